"""The sites as a strategy sees them, with three verbs: secure_sum, collect, broadcast.

One round trip is one message to every site and its answer. Its cost in a deployment is seconds whatever its
size, so broadcasts, and notes from site to site, which the coordinator cannot read, ride on the next one
(:mod:`.messages`).
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from logging import INFO, WARNING
from typing import Any, TypeVar

import numpy as np
from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from flower_pansvm import records
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import FederationError
from flower_pansvm.records import Values
from flower_pansvm.schema import Schema
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.wire import keys_digest
from flower_pansvm.summing import RELAY, AllKeys, as_bytes
from flower_pansvm.tasks import Broadcast, Task, bounds_of, sum_name
from strategies.federation.checkpoint import Checkpoint, alike
from strategies.federation.checks import KnownRows, Relations, Request
from strategies.federation.exchange import Costs, exchange
from strategies.federation.messages import (
    Contact,
    Pending,
    notes_by_receiver,
    open_sums,
    payload_of,
    question_of_step,
    question_of_sum,
    sender_of,
)
from strategies.federation.shapes import sizes_of
from strategies.log import log
from strategies.settings import Settings

Q = TypeVar("Q")
A = TypeVar("A")
M = TypeVar("M")


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
    checkpoint : Checkpoint or None
        Where the sums are written down, and taken from by a run that resumes.
    after_round : callable or None
        Called when all sites have answered a question, with the number of round trips so far, the task's name and its
        sums; what sites disclose is no sum.

    Attributes
    ----------
    sites : dict of str to Contact
        The sites that take part, by name, in ring order.
    schema : Schema or None
        Columns and classes, once the sites have agreed on them.
    rows : KnownRows or None
        What sums have told of the sites' rows: the step that asks for these sums writes it down.
    costs : Costs
        What the run cost.
    differences : list of str
        In what sites differ that most likely should not, a sentence each.
    """

    lengths = staticmethod(sizes_of)

    def __init__(
        self,
        grid: Grid,
        settings: Settings,
        checkpoint: Checkpoint | None = None,
        after_round: Callable[[int, str, Mapping[str, Floats]], None] | None = None,
    ) -> None:
        self.grid = grid
        self.settings = settings
        self.checkpoint = checkpoint
        self.after_round = after_round or (lambda *_: None)
        self.run = str(grid.run.run_id)
        self.terms = settings.terms
        self.protocol = protocol_of(self.terms)
        self.sites: dict[str, Contact] = {}
        self.schema: Schema | None = None
        self.costs = Costs()
        self.differences: list[str] = []
        self.pending = Pending()
        self._joined: dict[str, Contact] = {}
        self._names: dict[int, str] = {}
        self.rows: KnownRows | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the sites have agreed on; none before they have joined."""
        return self.schema.columns if self.schema else ()

    def secure_sum(
        self,
        task: Task[Q, A],
        question: Q,
        slack: Mapping[str, float] | None = None,
        relations: Relations | None = None,
    ) -> A:
        """Have every site run ``task`` on its rows and learn the sum over the sites of each result.

        A site that does not answer is left out from then on, and the sum is repeated with the others, or opened over
        them where the protocol survives drop-outs.

        Parameters
        ----------
        task : Task
            A task whose results are all summed.
        question : object
            The task's question.
        slack : mapping of str to float, optional
            At level dp only: by how much any number of a sum may be off, besides rounding, since the sites add noise;
            0 for a result that is not named.
        relations : callable, optional
            What must hold between the results, besides what their fields declare: it yields what does not.

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
        asked = task, question, slack or {}, relations
        sums = self._replay(*entry) if entry else self._sum_of_all_left(*asked)
        sites = tuple(self.sites)
        if self.checkpoint:
            self.checkpoint.write(task.name, question, sites, sums)
        if entry and task.deals:
            # Asked all the same, for what the sites hand on to each other with it: keys do not outlive a run.
            again = self._sum_of_all_left(*asked)
            if tuple(self.sites) == sites and not all(alike(again[name], sums[name]) for name in sums):
                raise FederationError(
                    "A site's table has changed since the run was stopped: the sums of its records are others now, and "
                    "a model of both would be of neither. Put the table back and resume again, or start a new run."
                )
        return task.answer(**sums)

    def _sum_of_all_left(
        self, task: Task[Q, A], question: Q, slack: Mapping[str, float], relations: Relations | None
    ) -> dict[str, Floats]:
        """Ask for a sum, and again without the sites that are lost, until all that are left have answered."""
        round_trip = self.costs.round_trips + 1
        keys = keys_digest(as_bytes({name: site.keys for name, site in self._joined.items()}))
        inputs = records.values_of(question)
        attempt = 0
        while True:
            roster = tuple(self.sites)
            bounds = bounds_of(task, question, self.terms, len(roster))
            name = sum_name(task, inputs, bounds, self.pending.digests, self.terms.digest)
            this = SumRound(self.run, name, round_trip, attempt, roster, keys)
            request = Request(
                this,
                task,
                question,
                bounds,
                slack,
                self.lengths(self.schema, max(self.settings.folds, 1)),
                self.rows,
                relations,
            )
            try:
                return self._attempt(request, inputs)
            except SitesLostError as lost:
                silent = lost.names
            # Not within `except`: an error of its own would show the other as its cause.
            for site in silent:
                del self.sites[site]
            self.note_lost(silent, len(self.sites))
            attempt += 1

    def collect(self, task: Task[Q, A], question: Q) -> dict[str, A]:
        """Have every site run ``task`` and return what each has disclosed, by its name.

        Raises
        ------
        PanSVMError
            If a site reports an error, or fewer than ``min-sites`` answer.
        """
        answers = self.collect_by_node(task, question)
        return {name: answers[site.node_id] for name, site in self.sites.items()}

    def collect_by_node(self, task: Task[Q, A], question: Q) -> dict[int, A]:
        """Do as `collect`; but before any site has joined, ask all connected nodes."""
        names = {contact.node_id: name for name, contact in self.sites.items()}
        nodes = list(names) or list(self.grid.get_node_ids())
        content = RecordDict()
        records.write(content, "inputs", question)
        self.pending.put_broadcasts(content)
        replies = self._exchange(dict.fromkeys(nodes, content), task)
        silent = [names.get(node, f"node {node}") for node in nodes if node not in replies]
        if silent:
            self.sites = {name: site for name, site in self.sites.items() if name not in silent}
            self.note_lost(silent, len(replies))
        senders = {node: sender_of(names.get(node, f"node {node}")) for node in replies}
        results = {
            node: records.read(reply.content, "disclosed", task.answer, senders[node])
            for node, reply in replies.items()
        }
        for name in task.disclosed:
            most = max(np.size(getattr(result, name)) for result in results.values())
            self.costs.record_disclosure(task, "disclosed", name, most)
        if self.checkpoint and self.schema:
            self.checkpoint.write_asked(task.name, question, tuple(self.sites))
        self.after_round(self.costs.round_trips, task.name, {})
        return results

    def broadcast(self, broadcast: Broadcast[M], message: M) -> None:
        """Give every site values to keep; they travel with the next messages."""
        self.pending.add_broadcast(broadcast.name, records.values_of(message))
        if self.checkpoint:
            self.checkpoint.write_told(broadcast, message)

    def enrol(self, contacts: Mapping[str, Contact]) -> None:
        """Take in the sites that have joined; their order by name is the ring's."""
        self._joined = dict(sorted(contacts.items()))
        self.sites = dict(self._joined)
        self._names = {contact.node_id: name for name, contact in self._joined.items()}
        self.pending.add_keys(AllKeys.of({name: contact.keys for name, contact in self._joined.items()}))

    def note_difference(self, text: str) -> None:
        """Warn that a site differs from the others, and keep it for the result."""
        log(WARNING, text)
        self.differences.append(text)

    def note_lost(self, names: Iterable[str], left: int) -> None:
        """Write down that sites have stopped answering.

        Raises
        ------
        FederationError
            If too few are left.
        """
        for name in names:
            log(WARNING, "site '%s' does not answer and is left out from now on", name)
            self.costs.dropped.append(name)
        if left < self.settings.min_sites:
            raise FederationError(
                f"Only {left} sites are left and min-sites is {self.settings.min_sites}; lost: "
                f"{', '.join(self.costs.dropped)}. See that their SuperNodes run and whether their logs show an "
                "error, then start the run again."
            )
        log(INFO, "going on with %d sites", left)

    def open(self, request: Request, contents: Mapping[str, RecordDict]) -> dict[str, Floats]:
        """Return the sums that the sites' replies to a request add up to.

        Raises
        ------
        FederationError
            If a sum is invalid, or, where nothing hides it, what a site has contributed.
        """
        task = request.task
        relay = partial(self._relay, request.this)
        sums = open_sums(request, contents, self.protocol, relay)
        how = "dp" if task.dp else self.settings.level
        for name, total in sums.items():
            if total.size:  # else the part was not asked for
                self.costs.record_disclosure(
                    task, how if self.protocol.protected else "disclosed", name, total.size
                )
        return sums

    def _replay(self, sites: tuple[str, ...], sums: dict[str, Floats]) -> dict[str, Floats]:
        """Return the sums of a checkpoint's entry, after leaving out the sites that were lost by then."""
        if missing := [name for name in sites if name not in self.sites]:
            raise FederationError(
                f"The checkpoint holds sums over site '{missing[0]}', which has not joined. Start its SuperNode and "
                "resume again, or start a new run without it."
            )
        if left_out := [name for name in self.sites if name not in sites]:
            self.sites = {name: self.sites[name] for name in sites}
            self.note_lost(left_out, len(self.sites))
        return sums

    def _attempt(self, request: Request, inputs: Values) -> dict[str, Floats]:
        """Ask all sites that are left for a sum, and open it."""
        asked = question_of_sum(request.this, inputs, self._joined)
        contents = {name: RecordDict(dict(asked)) for name in request.this.roster}
        for name, content in contents.items():
            self.pending.put(content, name)
        # Of what sites deal to each other, nothing may be missing.
        survives = self.protocol.survives and not request.task.deals
        replies = self._exchange_all(contents, request.task, self._fewest(request) if survives else None)
        sums = self.open(request, replies)
        if lost := [name for name in request.this.roster if name not in replies]:
            self.sites = {name: self.sites[name] for name in replies}
            self.note_lost(lost, len(self.sites))
        self.pending.delivered(notes_by_receiver(replies))
        self.after_round(self.costs.round_trips, request.task.name, sums)
        return sums

    def _fewest(self, request: Request) -> int:
        """Return over how many sites a sum may be opened: as many as protocol, settings and noise ask for."""
        noisy = len(request.this.roster) - self.terms.colluders if request.task.dp else 0
        return max(self.protocol.fewest(request.this), self.settings.min_sites, noisy)

    def _relay(self, this: SumRound, step: int, payloads: Mapping[str, bytes]) -> dict[str, bytes]:
        """Take one step of a protocol that needs several; the payloads are ciphertext to the coordinator."""
        contents = {
            name: question_of_step(this, step, payload, self._joined) for name, payload in payloads.items()
        }
        replies = self._exchange_all(contents, RELAY, self.protocol.fewest(this))
        return {name: payload_of(content, name) for name, content in replies.items()}

    def _exchange_all(
        self, contents: Mapping[str, RecordDict], task: Task[Any, Any], fewest: int | None = None
    ) -> dict[str, RecordDict]:
        """Send a message to each of some sites and return the replies; SitesLostError unless all, or enough, answer."""
        nodes = {self.sites[name].node_id: content for name, content in contents.items()}
        replies = self._exchange(nodes, task)
        there = {
            name: replies[node].content for name in contents if (node := self.sites[name].node_id) in replies
        }
        if len(there) < (len(contents) if fewest is None else min(fewest, len(contents))):
            raise SitesLostError(name for name in contents if name not in there)
        return there

    def _exchange(self, contents: Mapping[int, RecordDict], task: Task[Any, Any]) -> dict[int, Message]:
        kind, timeout = task.message_type, self.settings.timeout
        messages = [Message(content, node, kind, ttl=timeout) for node, content in contents.items()]
        with self.costs.wait():
            return exchange(self.grid, messages, timeout, self.costs, self._names)
