"""The sites as a strategy sees them, with three verbs: secure_sum, collect, broadcast.

One round trip is one message to every site and its answer. Its cost in a deployment is seconds whatever its
size, so broadcasts have no round trip of their own: they ride on the next one, whose answers acknowledge
them. Notes from site to site, which the coordinator cannot read, ride along in the same way.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from logging import INFO, WARNING
from typing import Any, cast

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.common.logger import log
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from numpy.typing import NDArray

from flower_pansvm import records
from flower_pansvm.errors import FederationError, PanSVMError, SumError, error_class
from flower_pansvm.messages import Task
from flower_pansvm.records import Value, Values
from flower_pansvm.secure_sum import make
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.fixed_point import decode, words_needed
from flower_pansvm.settings import Settings
from strategies.ledger import Ledger

POLL_SECONDS = 0.02
"""First wait before asking Flower for replies; it doubles up to SLOWEST_POLL_SECONDS."""

SLOWEST_POLL_SECONDS = 0.25

WILD = float("inf")
"""Bound for results of unknown size: they take four words each instead of one."""


@dataclass(frozen=True)
class Contact:
    """How to reach a site that has joined, and what it has published."""

    node_id: int
    public_key: bytes
    published: bytes


class SitesLostError(Exception):
    """Some sites did not answer; the sum is repeated without them."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self.names = tuple(names)


class Federation:
    """All sites of a run.

    Parameters
    ----------
    grid : Grid
        Flower's grid.
    settings : Settings
        The run's settings: protocol, fewest sites, timeout.
    strategy : Strategy
        Flower's hooks: who is asked (``configure_train``, ``configure_evaluate``), and what becomes of the replies
        (``aggregate_train``, ``aggregate_evaluate``).

    Attributes
    ----------
    sites : dict of str to Contact
        The sites that take part, by name, in ring order.
    ledger : Ledger
        What the run cost.
    """

    def __init__(self, grid: Grid, settings: Settings, strategy: Strategy) -> None:
        self.grid = grid
        self.settings = settings
        self.strategy = strategy
        self.run = str(grid.run.run_id)
        self.protocol = make(settings.aggregation)
        self.sites: dict[str, Contact] = {}
        self._joined: dict[str, Contact] = {}
        self.ledger = Ledger()
        self._riders: dict[str, Values] = {}
        self._notes: dict[str, dict[str, bytes]] = {}
        self._sum: SumRound | None = None
        self._bounds: Mapping[str, float] = {}
        self._task: Task | None = None

    def secure_sum(
        self, task: Task, inputs: Values, bounds: Mapping[str, float]
    ) -> dict[str, NDArray[np.float64]]:
        """Have every site run ``task`` on its rows and learn the sum over the sites of each result.

        Parameters
        ----------
        task : Task
            A task whose results are all summed.
        inputs : mapping
            What the task needs.
        bounds : mapping of str to float
            For each result the largest absolute value that any site may hold; :data:`WILD` if unknown.

        Returns
        -------
        dict of str to ndarray
            The sums, in the shapes the sites gave them.

        Raises
        ------
        PanSVMError
            If a site reports an error, or fewer than ``min-sites`` sites are left.
        """
        round_trip = self.ledger.round_trips + 1
        attempt = 0
        while True:
            self._task, self._bounds = task, bounds
            self._sum = SumRound(self.run, task.name, round_trip, attempt, tuple(self.sites))
            try:
                return self._attempt(task, inputs)
            except SitesLostError as lost:
                self._drop(lost.names)
                attempt += 1

    def collect(self, task: Task, inputs: Values) -> dict[int, dict[str, Any]]:
        """Have every site run ``task`` and return each site's disclosed results, by node id.

        Raises
        ------
        PanSVMError
            If a site reports an error or does not answer.
        """
        nodes = [contact.node_id for contact in self.sites.values()] or list(self.grid.get_node_ids())
        messages = []
        for node in nodes:
            content = RecordDict()
            records.put(content, "inputs", inputs)
            messages.append(Message(content, node, task.message_type, ttl=self.settings.timeout))
        replies = self._exchange(messages)
        silent = [str(node) for node in nodes if node not in replies]
        if silent:
            raise FederationError(
                f"Node {', '.join(silent)} did not answer '{task.name}' within {self.settings.timeout:g} s. Is its "
                "SuperNode running, and does its log show an error? Raise 'timeout' if its table is very large."
            )
        results = {node: records.get(replies[node].content, "disclosed") for node in nodes}
        for name, value in results[nodes[0]].items():
            self.ledger.note_departure(task, "disclosed", name, np.size(value))
        return results

    def enrol(self, contacts: Mapping[str, Contact]) -> None:
        """Take in the sites that have joined; their order by name is the ring's."""
        self._joined = dict(sorted(contacts.items()))
        self.sites = dict(self._joined)

    def broadcast(self, name: str, values: Values) -> None:
        """Give every site values to keep; they travel with the next secure sum."""
        self._riders[name] = values

    def requests(self, inputs: ArrayRecord, config: ConfigRecord) -> list[Message]:
        """Return one message to every site with the inputs of the task at hand."""
        task = cast(Task, self._task)
        messages = []
        for contact in self.sites.values():
            content = RecordDict({"inputs.arrays": inputs, "inputs.values": config})
            messages.append(Message(content, contact.node_id, task.message_type, ttl=self.settings.timeout))
        return messages

    def open(self, replies: Iterable[Message]) -> dict[str, NDArray[np.float64]]:
        """Return the sums that the replies to the round trip at hand add up to."""
        this, task = cast(SumRound, self._sum), cast(Task, self._task)
        contents = {self._name_of(reply.metadata.src_node_id): reply.content for reply in replies}
        payloads = {
            name: cast("NDArray[np.uint8]", records.get(content, "sum")["payload"]).tobytes()
            for name, content in contents.items()
        }
        shapes = self._common_shapes(contents)
        words = self.protocol.total(payloads, this, self._relay)
        sums, place = {}, 0
        for name in task.summed:
            bound = self._bounds[name] if np.isfinite(self._bounds[name]) else None
            length = words_needed(int(np.prod(shapes[name])), bound)
            sums[name] = decode(words[place : place + length], shapes[name], bound, len(this.roster))
            place += length
            self.ledger.note_departure(task, "summed", name, sums[name].size)
        return sums

    def _attempt(self, task: Task, inputs: Values) -> dict[str, NDArray[np.float64]]:
        this = cast(SumRound, self._sum)
        packed = RecordDict()
        records.put(packed, "inputs", inputs)
        arrays = cast(ArrayRecord, packed["inputs.arrays"])
        config = cast(ConfigRecord, packed["inputs.values"])
        evaluating = task.category == "evaluate"
        configure = self.strategy.configure_evaluate if evaluating else self.strategy.configure_train
        messages = list(configure(this.round_trip, arrays, config, self.grid))
        for message in messages:
            self._dress(message.content, self._name_of(message.metadata.dst_node_id))
        replies = self._exchange(messages)
        lost = [name for name in this.roster if self.sites[name].node_id not in replies]
        if lost:
            raise SitesLostError(lost)
        sums = self._aggregate(this.round_trip, list(replies.values()), evaluating)
        self._riders.clear()
        self._notes = _notes_by_receiver(
            {self._name_of(node): reply.content for node, reply in replies.items()}
        )
        return sums

    def _aggregate(
        self, round_trip: int, replies: list[Message], evaluating: bool
    ) -> dict[str, NDArray[np.float64]]:
        if evaluating:
            metrics = self.strategy.aggregate_evaluate(round_trip, replies) or MetricRecord()
            return {name: np.asarray(values, dtype=np.float64) for name, values in metrics.items()}
        arrays, _ = self.strategy.aggregate_train(round_trip, replies)
        return {name: cast("NDArray[np.float64]", array.numpy()) for name, array in (arrays or {}).items()}

    def _dress(self, content: RecordDict, name: str) -> None:
        """Add to a message what the secure sum needs, the broadcasts, and the notes to this site."""
        this = cast(SumRound, self._sum)
        request: dict[str, Value] = {
            "task": this.task,
            "round_trip": this.round_trip,
            "attempt": this.attempt,
            "roster": records.texts(this.roster),
        }
        records.put(content, "sum", request)
        records.put(content, "bounds", dict(self._bounds))
        # Of lost sites too: a note may come from one.
        records.put(content, "public_keys", {site: self._joined[site].public_key for site in self._joined})
        records.put(content, "published", {site: self._joined[site].published for site in self._joined})
        records.put(content, "notes", self._notes.get(name, {}))
        for broadcast, values in self._riders.items():
            records.put(content, f"broadcast.{broadcast}", values)

    def _exchange(self, messages: list[Message]) -> dict[int, Message]:
        """Send messages and return the replies by node id; a node that did not answer in time is not in it.

        Raises
        ------
        PanSVMError
            If a site's reply is an error that this project raised: repeating would not help.
        """
        node_of = self._push(messages)
        self.ledger.round_trips += 1
        self.ledger.bytes_down += sum(records.size(message.content) for message in messages)
        replies: dict[int, Message] = {}
        faults: list[tuple[int, str]] = []
        waiting = set(node_of)
        deadline, pause = time.monotonic() + self.settings.timeout, POLL_SECONDS
        while waiting and time.monotonic() < deadline:
            for reply in self.grid.pull_messages(waiting):
                message_id = reply.metadata.reply_to_message_id
                waiting.discard(message_id)
                if reply.has_content():
                    replies[node_of[message_id]] = reply
                    self.ledger.bytes_up += records.size(reply.content)
                elif reply.error.code >= PanSVMError.code:
                    faults.append((reply.error.code, reply.error.reason or ""))
                else:
                    log(WARNING, "node %s: %s", node_of[message_id], reply.error.reason)
            if waiting:
                time.sleep(pause)
                pause = min(2 * pause, SLOWEST_POLL_SECONDS)
        if faults:
            texts = sorted({reason for _, reason in faults})
            raise error_class(faults[0][0])("\n".join(texts))
        return replies

    def _push(self, messages: list[Message]) -> dict[str, int]:
        """Hand messages to Flower and return the node of each message id; one it did not take is left out."""
        ids = list(self.grid.push_messages(messages))
        if len(ids) != len(messages):
            raise FederationError(
                "Flower's SuperLink refused a message as too large. Use fewer landmarks or fewer points per round "
                "trip, or raise the SuperLink's limit."
            )
        nodes = (message.metadata.dst_node_id for message in messages)
        return {message_id: node for message_id, node in zip(ids, nodes, strict=True) if message_id}

    def _relay(self, step: int, payloads: Mapping[str, bytes]) -> dict[str, bytes]:
        raise SumError(
            f"Protocol '{self.protocol.name}' asked for relay step {step} of {len(payloads)} payloads."
        )

    def _drop(self, names: Iterable[str]) -> None:
        for name in names:
            log(WARNING, "site '%s' does not answer and is left out from now on", name)
            del self.sites[name]
            self.ledger.dropped.append(name)
        if len(self.sites) < self.settings.min_sites:
            raise FederationError(
                f"Only {len(self.sites)} sites are left and min-sites is {self.settings.min_sites}; lost: "
                f"{', '.join(self.ledger.dropped)}. See that their SuperNodes run, then start the run again."
            )
        log(INFO, "the sum is repeated with %d sites", len(self.sites))

    def _name_of(self, node_id: int) -> str:
        return next(name for name, contact in self.sites.items() if contact.node_id == node_id)

    def _common_shapes(self, contents: Mapping[str, RecordDict]) -> dict[str, tuple[int, ...]]:
        shapes = {
            site: {
                name: tuple(int(side) for side in cast("NDArray[np.int64]", shape))
                for name, shape in records.get(content, "shapes").items()
            }
            for site, content in contents.items()
        }
        first = next(iter(shapes))
        for site, own in shapes.items():
            if own != shapes[first]:
                raise SumError(
                    f"Sites '{first}' and '{site}' sent results of different shapes, which cannot be added up. Do "
                    "all sites run the same version of flower-pansvm?"
                )
        return shapes[first]


def _notes_by_receiver(contents: Mapping[str, RecordDict]) -> dict[str, dict[str, bytes]]:
    """Sort the sealed notes in the sites' replies by the site they are for."""
    notes: dict[str, dict[str, bytes]] = {}
    for sender, content in contents.items():
        for receiver, note in records.get(content, "notes").items():
            notes.setdefault(receiver, {})[sender] = cast(bytes, note)
    return notes
