"""What messages hold besides the question, and the sums that the sites' replies add up to.

A message says which sum it is about, and carries what waited for it: broadcasts to all sites, sealed notes from site to
site, and everybody's keys.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
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
from flower_pansvm.summing import AllKeys, Payload, PublicKeys, RelayStep, WhichSum
from flower_pansvm.tasks import Task
from strategies.federation.checks import AggregateResult, Request, check_sum


@dataclass(frozen=True)
class Contact:
    """How to reach a site that has joined, and what it has said of itself."""

    node_id: int
    keys: PublicKeys
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    simulated: bool = False


class Pending:
    """What rides on the next messages and has no round trip of its own; all sites have it when all have answered.

    Attributes
    ----------
    broadcasts : dict of str to mapping
        The values that not all sites have yet, by the broadcast's name.
    digests : dict of str to str
        The digest of everything that has been broadcast so far; the name of each sum is made from them.
    """

    def __init__(self) -> None:
        self.broadcasts: dict[str, Values] = {}
        self.digests: dict[str, str] = {}
        self._keys: AllKeys | None = None  # until all sites have them
        self._notes: Mapping[str, Mapping[str, bytes]] = {}

    def add_broadcast(self, name: str, values: Values) -> None:
        """Take values for all sites, which replace those of the same name."""
        self.broadcasts[name] = values
        self.digests[name] = records.digest(values)

    def add_keys(self, keys: AllKeys) -> None:
        """Take what all sites have published, for their first sum; lost ones too: a note may come from one."""
        self._keys = keys

    def put_broadcasts(self, content: RecordDict) -> None:
        """Add the broadcasts to a message."""
        for name, values in self.broadcasts.items():
            records.put(content, f"broadcast.{name}", values)

    def put(self, content: RecordDict, site: str) -> None:
        """Add everything to the message of a secure sum to a site."""
        if self._keys is not None:
            records.write(content, "keys", self._keys)
        records.put(content, "notes", self._notes.get(site, {}))
        self.put_broadcasts(content)

    def delivered(self, notes: Mapping[str, Mapping[str, bytes]]) -> None:
        """Remove the broadcasts that all sites have received, and take the notes in their answers, by receiver."""
        self.broadcasts.clear()
        self._keys, self._notes = None, notes


def question_of_sum(this: SumRound, inputs: Values, joined: Mapping[str, Contact]) -> RecordDict:
    """Return what all sites of a sum are asked."""
    content = RecordDict()
    records.put(content, "inputs", inputs)
    put_sum(content, this, joined)
    return content


def question_of_step(this: SumRound, step: int, payload: bytes, joined: Mapping[str, Contact]) -> RecordDict:
    """Return what a site is asked for a step of a protocol that takes several."""
    content = RecordDict()
    put_sum(content, this, joined)
    records.write(content, "step", RelayStep(step, payload))
    return content


def put_sum(content: RecordDict, this: SumRound, joined: Mapping[str, Contact]) -> None:
    """Write on a message which sum it is about.

    Parameters
    ----------
    content : RecordDict
        The message's content.
    this : SumRound
        The sum.
    joined : mapping of site name to Contact
        All sites that have joined the run.
    """
    taking_part = set(this.roster)
    left_out = tuple(name for name in joined if name not in taking_part)
    records.write(content, "sum", WhichSum(this.task, this.round_trip, this.attempt, left_out))


def notes_by_receiver(contents: Mapping[str, RecordDict]) -> dict[str, dict[str, bytes]]:
    """Sort the sealed notes in the sites' replies by the site they are for."""
    notes: dict[str, dict[str, bytes]] = {}
    for sender, content in contents.items():
        for receiver, note in records.read_each(content, "notes", bytes, sender_of(sender)).items():
            notes.setdefault(receiver, {})[sender] = note
    return notes


def sender_of(site: str) -> str:
    """Return how the errors of :mod:`flower_pansvm.records` name a site that has sent something."""
    return f"Site '{site}'"


def open_sums(
    request: Request,
    contents: Mapping[str, RecordDict],
    protocol: SecureSum,
    relay: Relay,
) -> dict[str, Floats]:
    """Return the sums that the replies to a request add up to.

    Parameters
    ----------
    request : Request
        What was asked.
    contents : mapping of str to RecordDict
        The replies, by site.
    protocol : SecureSum
        How the sums are hidden.
    relay : callable
        Takes one step of a protocol that needs several.

    Raises
    ------
    FederationError
        If a sum is invalid, or, where nothing hides it, what a site has contributed.
    """
    this, task, bounds = request.this, request.task, request.bounds
    shapes = common_shapes(contents, task)
    payloads = {name: payload_of(content, name) for name, content in contents.items()}
    words = protocol.total(payloads, this, relay)
    sums = unpack(words, task, shapes, bounds, len(this.roster))
    if not protocol.protected:
        for site, payload in payloads.items():
            own = unpack(from_bytes(payload, site), task, shapes, bounds, len(this.roster))
            check_sum(AggregateResult(request, own, (site,)), site)
    check_sum(AggregateResult(request, sums, tuple(contents)))
    return sums


def payload_of(content: RecordDict, site: str) -> bytes:
    """Return what a site's protocol has put into its reply.

    Raises
    ------
    FederationError
        If there is nothing of the kind; it names the site.
    """
    return records.read(content, "sum", Payload, sender_of(site)).payload.tobytes()


def unpack(
    words: Words,
    task: Task[Any, Any],
    shapes: Mapping[str, tuple[int, ...]],
    bounds: Mapping[str, float],
    sites: int,
) -> dict[str, Floats]:
    """Return the results that a sum of the sites' words holds, in the order in which the task declares them."""
    sums, place = {}, 0
    for name in task.summed:
        bound = bounds[name] if np.isfinite(bounds[name]) else None
        length = words_needed(math.prod(shapes[name]), bound)
        sums[name] = decode(words[place : place + length], shapes[name], bound, sites, name)
        place += length
    return sums


def common_shapes(contents: Mapping[str, RecordDict], task: Task[Any, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each result of a task, which must be the same at all sites.

    Raises
    ------
    FederationError
        If a site has sent no shapes, or such as no array has; it names the site.
    SumError
        If the shapes differ.
    """
    shapes = {site: _shapes_of(content, task, site) for site, content in contents.items()}
    first = next(iter(shapes))
    for site, own in shapes.items():
        if own != shapes[first]:
            raise SumError(
                f"Sites '{first}' and '{site}' sent results of different shapes, which cannot be added up. Do all "
                "sites run the same version of flower-pansvm?"
            )
    return shapes[first]


def _shapes_of(content: RecordDict, task: Task[Any, Any], site: str) -> dict[str, tuple[int, ...]]:
    shapes = {}
    sent: dict[str, Ints] = records.read_each(content, "shapes", Ints, sender_of(site))
    for name in task.summed:
        sides = sent.get(name)
        if sides is None or sides.ndim != 1 or len(sides) > MOST_SIDES or (sides < 0).any():
            raise FederationError(
                f"Site '{site}' says of the result '{name}' of task '{task.name}' that it has a shape which no array "
                "has. Does it run the same version of flower-pansvm?"
            )
        shapes[name] = tuple(sides.tolist())
    return shapes
