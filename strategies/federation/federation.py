"""A strategy's interface to the sites, with three verbs: secure_sum, collect, broadcast.

One round trip is one message to every site and its reply. In a deployment it costs seconds, whatever its size, so
broadcasts, and sealed notes from site to site, ride on the next one (:mod:`.messages`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from flower_pansvm import records
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import FederationError
from flower_pansvm.log import logger
from flower_pansvm.records import Values
from flower_pansvm.schema import Schema
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.summing import RELAY, AllKeys, RelayStep, as_bytes, keys_digest
from flower_pansvm.tasks import Broadcast, Task, bounds_of, sum_name
from strategies.federation.checkpoint import Checkpoint, alike
from strategies.federation.checks import KnownRows, Relations, Request, check_sum
from strategies.federation.exchange import Costs, exchange
from strategies.federation.messages import (
    Contact,
    Pending,
    notes_by_receiver,
    open_sums,
    payload_of,
    put_sum,
    sender_of,
)
from strategies.federation.shapes import sizes_of
from strategies.settings import Settings

Q = TypeVar("Q")
A = TypeVar("A")
M = TypeVar("M")


class SitesDroppedError(Exception):
    """Some sites dropped out; the sum is repeated without them."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self.names = tuple(names)


@dataclass(eq=False)
class Federation:
    """All sites of a run."""

    grid: Grid
    settings: Settings  # the run's: protocol, fewest sites, timeout
    # Records the sums, and returns those of the stopped run in a run that resumes.
    checkpoint: Checkpoint | None = None
    # Called after every request that all sites have answered, with the number of round trips so far, the task's name
    # and its sums (empty for a task whose results are disclosed).
    after_round: Callable[[int, str, Mapping[str, Floats]], None] = lambda *_: None
    # The sites that take part, by name, in ring order.
    sites: dict[str, Contact] = field(default_factory=dict, init=False)
    schema: Schema | None = field(default=None, init=False)  # once the sites have agreed on it
    rows: KnownRows | None = field(default=None, init=False)  # set by the step that sums the sites' rows
    # Unexpected differences between sites, a sentence each.
    differences: list[str] = field(default_factory=list, init=False)

    check: ClassVar[Callable[..., None]] = staticmethod(check_sum)

    def __post_init__(self) -> None:
        self.run = str(self.grid.run.run_id)
        self.terms = self.settings.terms
        self.protocol = protocol_of(self.terms)
        self.costs = Costs()
        self.pending = Pending()
        self._joined: dict[str, Contact] = {}
        self._names: dict[int, str] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the agreed schema; empty before sites have joined."""
        return self.schema.columns if self.schema else ()

    def secure_sum(
        self,
        task: Task[Q, A],
        question: Q,
        slack: Mapping[str, float] | None = None,
        relations: Relations | None = None,
    ) -> A:
        """Have every site run ``task`` on its rows and learn the sum over the sites of each result.

        A site that does not answer is left out from then on. The sum is repeated with the others, or opened over them
        if the protocol survives drop-outs.

        Parameters
        ----------
        task : Task
            A task whose results are all summed.
        slack : mapping of str to float, optional
            At level dp only: allowed error of any number of a sum by the sites' noise, besides rounding; 0 for a
            result that is not named.
        relations : callable, optional
            Yields the relations between results that do not hold; fields declare the checks of single results.

        Returns
        -------
        object
            The task's answer with the sums, in the shapes the sites gave them.

        Raises
        ------
        PanSVMError
            If a site reports an error, fewer than ``min-sites`` sites are left, or a sum is invalid.
        """
        entry = self.checkpoint.next(task.name) if self.checkpoint else None
        arguments = task, question, slack or {}, relations
        sums = self._replay(*entry) if entry else self._request_sum(*arguments)
        sites = tuple(self.sites)
        if self.checkpoint:
            self.checkpoint.write(task.name, question, sites, sums)
        if entry and task.deals:
            # The request is repeated for the notes that sites send each other with it: keys do not outlive a run.
            again = self._request_sum(*arguments)
            if tuple(self.sites) == sites and not all(alike(again[name], sums[name]) for name in sums):
                raise FederationError(
                    "A site's table has changed since the run was stopped: the sums of its records differ, and a model "
                    "would mix both tables. Put the table back and resume again, or start a new run."
                )
        return task.answer(**sums)

    def _request_sum(
        self, task: Task[Q, A], question: Q, slack: Mapping[str, float], relations: Relations | None
    ) -> dict[str, Floats]:
        """Request a sum, and again without the sites that drop out, until all others have answered."""
        round_trip = self.costs.round_trips + 1
        keys = keys_digest(as_bytes({name: site.keys for name, site in self._joined.items()}))
        inputs = records.values_of(question)
        attempt = 0
        while True:
            roster = tuple(self.sites)
            bounds = bounds_of(task, question, self.terms, len(roster))
            name = sum_name(task, inputs, bounds, self.pending.digests, self.terms.digest)
            sum_round = SumRound(self.run, name, round_trip, attempt, roster, keys)
            request = Request(
                sum_round,
                task,
                question,
                bounds,
                slack,
                sizes_of(self.schema, max(self.settings.folds, 1)),
                self.rows,
                relations,
            )
            try:
                return self._attempt(request, inputs)
            except SitesDroppedError as error:
                silent = error.names
            # Outside of `except`, so that an error of `note_dropped` does not name the other as its cause.
            for site in silent:
                del self.sites[site]
            self.note_dropped(silent, len(self.sites))
            attempt += 1

    def collect(self, task: Task[Q, A], question: Q) -> dict[str, A]:
        """Have every site run ``task`` and return the disclosed results by site.

        Raises
        ------
        PanSVMError
            If a site reports an error, or fewer than ``min-sites`` answer.
        """
        answers = self.collect_by_node(task, question)
        return {name: answers[site.node_id] for name, site in self.sites.items()}

    def collect_by_node(self, task: Task[Q, A], question: Q) -> dict[int, A]:
        """Do as `collect`, by node id; before any site has joined, of all connected nodes."""
        names = {contact.node_id: name for name, contact in self.sites.items()}
        nodes = list(names) or list(self.grid.get_node_ids())
        content = RecordDict()
        records.write(content, "inputs", question)
        self.pending.put_broadcasts(content)
        replies = self._exchange(dict.fromkeys(nodes, content), task)
        silent = [names.get(node, f"node {node}") for node in nodes if node not in replies]
        if silent:
            self.sites = {name: site for name, site in self.sites.items() if name not in silent}
            self.note_dropped(silent, len(replies))
        senders = {node: sender_of(names.get(node, f"node {node}")) for node in replies}
        results = {
            node: records.read(reply.content, "disclosed", task.answer, senders[node])
            for node, reply in replies.items()
        }
        for name in task.disclosed:
            most = max(np.size(getattr(result, name)) for result in results.values())
            self.costs.record_disclosure(task, "disclosed", name, most)
        if self.checkpoint and self.schema:
            self.checkpoint.write_question(task.name, question, tuple(self.sites))
        self.after_round(self.costs.round_trips, task.name, {})
        return results

    def broadcast(self, broadcast: Broadcast[M], message: M) -> None:
        """Send every site values to keep; they travel with the next messages."""
        self.pending.add_broadcast(broadcast.name, records.values_of(message))
        if self.checkpoint:
            self.checkpoint.write_broadcast(broadcast, message)

    def enrol(self, contacts: Mapping[str, Contact]) -> None:
        """Set the sites that have joined; the ring orders them by name."""
        self._joined = dict(sorted(contacts.items()))
        self.sites = dict(self._joined)
        self._names = {contact.node_id: name for name, contact in self._joined.items()}
        self.pending.keys = AllKeys.of({name: contact.keys for name, contact in self._joined.items()})

    def note_difference(self, text: str) -> None:
        """Log a difference between sites, and keep it for the result."""
        logger.warning(text)
        self.differences.append(text)

    def note_dropped(self, names: Iterable[str], remaining: int) -> None:
        """Record sites that have dropped out.

        Raises
        ------
        FederationError
            If fewer than ``min-sites`` remain.
        """
        for name in names:
            logger.warning("site '%s' does not answer and is left out from now on", name)
            self.costs.dropped.append(name)
        if remaining < self.settings.min_sites:
            raise FederationError(
                f"Only {remaining} sites are left and min-sites is {self.settings.min_sites}; dropped out: "
                f"{', '.join(self.costs.dropped)}. Check that their SuperNodes run and whether their logs show an "
                "error, then start the run again."
            )
        logger.info("continuing with %d sites", remaining)

    def open(self, request: Request, contents: Mapping[str, RecordDict]) -> dict[str, Floats]:
        """Return the sums of the sites' replies to a request, as :func:`.messages.open_sums`."""
        task = request.task
        relay = partial(self._relay, request.sum_round)
        sums = open_sums(request, contents, self.protocol, relay, self.check)
        how = "dp" if task.dp else self.settings.level
        for name, total in sums.items():
            if total.size:  # results that were not requested are empty
                self.costs.record_disclosure(
                    task, how if self.protocol.protected else "disclosed", name, total.size
                )
        return sums

    def _replay(self, sites: tuple[str, ...], sums: dict[str, Floats]) -> dict[str, Floats]:
        """Return the sums of a checkpoint's entry, and remove the sites that had dropped out by then."""
        if missing := [name for name in sites if name not in self.sites]:
            raise FederationError(
                f"The checkpoint holds sums over site '{missing[0]}', which has not joined. Start its SuperNode and "
                "resume again, or start a new run without it."
            )
        if left_out := [name for name in self.sites if name not in sites]:
            self.sites = {name: self.sites[name] for name in sites}
            self.note_dropped(left_out, len(self.sites))
        return sums

    def _attempt(self, request: Request, inputs: Values) -> dict[str, Floats]:
        """Request a sum from all remaining sites, and open it."""
        common = RecordDict()
        records.put(common, "inputs", inputs)
        put_sum(common, request.sum_round, self._joined)
        contents = {name: RecordDict(dict(common)) for name in request.sum_round.roster}
        for name, content in contents.items():
            self.pending.put(content, name)
        # Of the notes that sites deal to each other, none may be missing.
        survives = self.protocol.survives and not request.task.deals
        replies = self._exchange_all(contents, request.task, self._fewest(request) if survives else None)
        sums = self.open(request, replies)
        if dropped := [name for name in request.sum_round.roster if name not in replies]:
            self.sites = {name: self.sites[name] for name in replies}
            self.note_dropped(dropped, len(self.sites))
        self.pending.delivered(notes_by_receiver(replies))
        self.after_round(self.costs.round_trips, request.task.name, sums)
        return sums

    def _fewest(self, request: Request) -> int:
        """Return the fewest sites over which a sum may be opened, by protocol, settings and noise."""
        noisy = len(request.sum_round.roster) - self.terms.colluders if request.task.dp else 0
        return max(self.protocol.fewest(request.sum_round), self.settings.min_sites, noisy)

    def _relay(self, sum_round: SumRound, step: int, payloads: Mapping[str, bytes]) -> dict[str, bytes]:
        """Take one relay step of a protocol; the payloads are ciphertext to the coordinator."""
        contents = {name: RecordDict() for name in payloads}
        for name, content in contents.items():
            put_sum(content, sum_round, self._joined)
            records.write(content, "step", RelayStep(step, payloads[name]))
        replies = self._exchange_all(contents, RELAY, self.protocol.fewest(sum_round))
        return {name: payload_of(content, name) for name, content in replies.items()}

    def _exchange_all(
        self, contents: Mapping[str, RecordDict], task: Task[Any, Any], fewest: int | None
    ) -> dict[str, RecordDict]:
        """Send a message to each site and return the replies; SitesDroppedError unless all, or ``fewest``, answer."""
        nodes = {name: self.sites[name].node_id for name in contents}
        messages = self._exchange({nodes[name]: content for name, content in contents.items()}, task)
        replies = {name: messages[node].content for name, node in nodes.items() if node in messages}
        if len(replies) < (len(contents) if fewest is None else min(fewest, len(contents))):
            raise SitesDroppedError(name for name in contents if name not in replies)
        return replies

    def _exchange(self, contents: Mapping[int, RecordDict], task: Task[Any, Any]) -> dict[int, Message]:
        kind, timeout = task.message_type, self.settings.timeout
        messages = [Message(content, node, kind, ttl=timeout) for node, content in contents.items()]
        with self.costs.wait():
            return exchange(self.grid, messages, timeout, self.costs, self._names)
