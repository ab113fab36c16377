"""Contents of messages besides the question, and the sums of the sites' replies.

A message names its sum, and carries pending broadcasts to all sites, sealed notes from site to site, and all sites'
public keys.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import RecordDict

from flower_pansvm import records
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import FederationError, SumError
from flower_pansvm.records import MOST_SIDES, Values
from flower_pansvm.secure_sum.contract import Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.decoding import decode, words_needed
from flower_pansvm.secure_sum.wire import from_bytes
from flower_pansvm.summing import LENGTH_BYTES, AllKeys, Payload, PublicKeys, WhichSum
from flower_pansvm.tasks import Task
from strategies.federation.checks import AggregateResult, Request

MOST_PUBLISHED_BYTES = 2 ** (8 * LENGTH_BYTES) - 1
SIGNATURE_BYTES = (0, 64)
"""Most bytes of the public half of a protocol, and the length of a site's signature: none without an identity."""


@dataclass(frozen=True)
class Contact:
    """A site that has joined: its node and what it has disclosed."""

    node_id: int
    keys: PublicKeys
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    simulated: bool = False


@dataclass
class Pending:
    """Broadcasts, keys and notes that ride on the next messages; all sites have them when all have answered."""

    # Those that not all sites have received, by name; and the digest of every one so far, on which sums' names depend.
    broadcasts: dict[str, Values] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    # The public keys of all sites, also of those that drop out, as a note may come from one; until all sites have them.
    keys: AllKeys | None = None
    notes: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)  # by receiver and sender

    def add_broadcast(self, name: str, values: Values) -> None:
        """Add a broadcast, which replaces an earlier one of the same name."""
        self.broadcasts[name] = values
        self.digests[name] = records.digest(values)

    def put_broadcasts(self, content: RecordDict) -> None:
        """Add the broadcasts to a message."""
        for name, values in self.broadcasts.items():
            records.put(content, f"broadcast.{name}", values)

    def put(self, content: RecordDict, site: str) -> None:
        """Add everything to the message of a secure sum to a site."""
        if self.keys is not None:
            records.write(content, "keys", self.keys)
        records.put(content, "notes", self.notes.get(site, {}))
        self.put_broadcasts(content)

    def delivered(self, notes: Mapping[str, Mapping[str, bytes]]) -> None:
        """Remove the broadcasts and keys that all sites have received, and set the notes to send, by receiver."""
        self.broadcasts.clear()
        self.keys, self.notes = None, notes


def put_sum(content: RecordDict, sum_round: SumRound, joined: Mapping[str, Contact]) -> None:
    """Add the identification of a sum, and the joined sites that it leaves out, to a message."""
    roster = set(sum_round.roster)
    left_out = tuple(name for name in joined if name not in roster)
    records.write(content, "sum", WhichSum(sum_round.task, sum_round.round_trip, sum_round.attempt, left_out))


def notes_by_receiver(contents: Mapping[str, RecordDict]) -> dict[str, dict[str, bytes]]:
    """Return the sealed notes in the sites' replies by receiver and sender."""
    notes: dict[str, dict[str, bytes]] = {}
    for sender, content in contents.items():
        for receiver, note in records.read_each(content, "notes", bytes, sender_of(sender)).items():
            notes.setdefault(receiver, {})[sender] = note
    return notes


def sender_of(site: str) -> str:
    """Return the name of a site in the errors of :mod:`flower_pansvm.records`."""
    return f"Site '{site}'"


def open_sums(
    request: Request,
    contents: Mapping[str, RecordDict],
    protocol: SecureSum,
    relay: Relay,
    check: Callable[[AggregateResult, str], None],
) -> dict[str, Floats]:
    """Return the sums of the sites' replies to a request.

    Parameters
    ----------
    contents : mapping of str to RecordDict
        The replies, by site.
    protocol : SecureSum
        The protocol that masks the sums.
    relay : callable
        Takes one relay step of the protocol.
    check : callable
        :func:`.checks.check_sum`.

    Raises
    ------
    FederationError
        If a sum is invalid, or a site's contribution where the protocol does not mask it.
    """
    sum_round, task, bounds = request.sum_round, request.task, request.bounds
    shapes = common_shapes(contents, task)
    payloads = {name: payload_of(content, name) for name, content in contents.items()}
    words = protocol.total(payloads, sum_round, relay)
    sums = unpack(words, task, shapes, bounds, len(sum_round.roster))
    if not protocol.protected:
        for site, payload in payloads.items():
            contribution = unpack(from_bytes(payload, site), task, shapes, bounds, len(sum_round.roster))
            check(AggregateResult(request, contribution, (site,)), site)
    check(AggregateResult(request, sums, tuple(contents)), "")
    return sums


def payload_of(content: RecordDict, site: str) -> bytes:
    """Return the protocol's payload in a site's reply.

    Raises
    ------
    FederationError
        If the reply has none; it names the site.
    """
    return records.read(content, "sum", Payload, sender_of(site)).payload.tobytes()


def unpack(
    words: Words,
    task: Task[Any, Any],
    shapes: Mapping[str, tuple[int, ...]],
    bounds: Mapping[str, float],
    sites: int,
) -> dict[str, Floats]:
    """Return the results in a sum of the sites' words, in the order of the task's declaration."""
    sums, start = {}, 0
    for name in task.summed:
        bound = bounds[name] if np.isfinite(bounds[name]) else None
        length = words_needed(math.prod(shapes[name]), bound)
        sums[name] = decode(words[start : start + length], shapes[name], bound, sites, name)
        start += length
    return sums


def common_shapes(contents: Mapping[str, RecordDict], task: Task[Any, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each result of a task, which must be the same at all sites.

    Raises
    ------
    FederationError
        If a site has sent no shapes, or invalid ones; it names the site.
    SumError
        If the shapes differ.
    """
    shapes = {site: _shapes_of(content, task, site) for site, content in contents.items()}
    first = next(iter(shapes))
    for site, shape in shapes.items():
        if shape != shapes[first]:
            raise SumError(
                f"Sites '{first}' and '{site}' sent results of different shapes, which have no sum. Check that all "
                "sites run the same version of flower-pansvm."
            )
    return shapes[first]


def _shapes_of(content: RecordDict, task: Task[Any, Any], site: str) -> dict[str, tuple[int, ...]]:
    shapes = {}
    sent: dict[str, Ints] = records.read_each(content, "shapes", Ints, sender_of(site))
    for name in task.summed:
        sides = sent.get(name)
        if sides is None or sides.ndim != 1 or len(sides) > MOST_SIDES or (sides < 0).any():
            raise FederationError(
                f"Site '{site}' sent an invalid shape of the result '{name}' of task '{task.name}'. Check that it runs "
                "the same version of flower-pansvm."
            )
        shapes[name] = tuple(sides.tolist())
    return shapes
