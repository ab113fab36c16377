"""The sites as a strategy sees them, with three verbs: secure_sum, collect, broadcast.

One round trip is one message to every site and its answer. Its cost in a deployment is seconds whatever its
size, so broadcasts, and notes from site to site, which the coordinator cannot read, ride on the next one
(:mod:`.luggage`).
"""

from collections.abc import Iterable, Mapping
from logging import INFO, WARNING
from typing import Any, TypeVar, cast

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.common.logger import log
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from numpy.typing import NDArray

from flower_pansvm import records
from flower_pansvm.errors import FederationError
from flower_pansvm.records import Values
from flower_pansvm.schema import Schema
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.wire import keys_digest
from flower_pansvm.summing import RELAY, AllKeys, RelayStep
from flower_pansvm.tasks import Broadcast, Task, bounds_of, sum_name
from strategies.federation.checkpoint import Checkpoint
from strategies.federation.costs import Costs
from strategies.federation.envelope import (
    Contact,
    Request,
    notes_by_receiver,
    payload_of,
    put_sum,
    sender_of,
)
from strategies.federation.exchange import exchange
from strategies.federation.luggage import Luggage
from strategies.federation.opening import open_sums
from strategies.federation.transcript import Transcript
from strategies.federation.versions import check_versions
from strategies.plausible.opened import KnownRows, rows_known
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
    strategy : Strategy
        Flower's hooks: who is asked (``configure_train``, ``configure_evaluate``), and what becomes of the replies
        (``aggregate_train``, ``aggregate_evaluate``).
    checkpoint : Checkpoint or None
        Where the sums are written down, and taken from by a run that resumes.
    transcript : Transcript or None
        Where it is written down what the sites were asked, for an audit.

    Attributes
    ----------
    sites : dict of str to Contact
        The sites that take part, by name, in ring order.
    schema : Schema or None
        Columns and classes, once the sites have agreed on them.
    costs : Costs
        What the run cost.
    differences : list of str
        In what sites differ that most likely should not, a sentence each.
    luggage : Luggage
        What rides on the next messages.
    """

    def __init__(
        self,
        grid: Grid,
        settings: Settings,
        strategy: Strategy,
        checkpoint: Checkpoint | None = None,
        transcript: Transcript | None = None,
    ) -> None:
        self.grid = grid
        self.settings = settings
        self.strategy = strategy
        self.checkpoint = checkpoint
        self.transcript = transcript
        self.run = str(grid.run.run_id)
        self.terms = settings.terms
        self.protocol = protocol_of(self.terms)
        if not self.protocol.protected:
            text = "NOTHING IS PROTECTED: with '%s' the coordinator sees every site's numbers; for comparison only"
            log(WARNING, text, settings.aggregation)
        self.sites: dict[str, Contact] = {}
        self.schema: Schema | None = None
        self.costs = Costs()
        self.differences: list[str] = []
        self.luggage = Luggage()
        self._joined: dict[str, Contact] = {}
        self._names: dict[int, str] = {}
        self._request: Request
        self._rows: KnownRows | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the sites have agreed on; none before they have joined."""
        return self.schema.columns if self.schema else ()

    @property
    def tested_on(self) -> str:
        """Whose test records a model's accuracy is of: the true ones, or at level perturbed their copies."""
        true = self.settings.level != "perturbed" or all(site.simulated for site in self.sites.values())
        return "true records" if true else "perturbed records"

    @property
    def rows_train(self) -> int | None:
        """Training rows of all sites, as far as they have been counted."""
        return None if self._rows is None else int(self._rows.train.sum())

    @property
    def rows_train_by_class(self) -> list[int] | None:
        """Training rows of each class over all sites, as far as they have been counted."""
        if self._rows is None:
            return None
        counts: list[int] = self._rows.train.sum(axis=0).astype(int).tolist()
        return counts

    @property
    def sites_with_one_class(self) -> list[str]:
        """Sites that have named a single class when they joined; one with too few rows of a class does not name it."""
        return [name for name, site in self.sites.items() if len(site.classes) == 1]

    def secure_sum(self, task: Task[Q, A], question: Q, slack: Mapping[str, float] | None = None) -> A:
        """Have every site run ``task`` on its rows and learn the sum over the sites of each result.

        A site that does not answer is left out from then on, and the sum is repeated with the others.

        Parameters
        ----------
        task : Task
            A task whose results are all summed.
        question : object
            The task's question.
        slack : mapping of str to float, optional
            At level dp only: by how much any number of a sum may be off, besides rounding, since the sites add noise;
            0 for a result that is not named.

        Returns
        -------
        object
            The task's answer with the sums, in the shapes the sites gave them.

        Raises
        ------
        PanSVMError
            If a site reports an error, fewer than ``min-sites`` sites are left, or a sum cannot be.
        """
        check_versions(self.sites, task)
        entry = self.checkpoint.next(task.name) if self.checkpoint else None
        sums = self._replay(*entry) if entry else self._sum_of_all_left(task, question, slack or {})
        sites = tuple(self.sites)
        self._rows = rows_known(task, sums, sites, self._rows)
        if self.checkpoint:
            self.checkpoint.write(task.name, sites, sums)
        if self.transcript:
            self.transcript.add_sum(task, question, sites, sums)
        if entry and task.deals:
            # Asked all the same, for what the sites hand on to each other with it: keys do not outlive a run.
            self._sum_of_all_left(task, question, slack or {})
        return task.answer(**sums)

    def _sum_of_all_left(
        self, task: Task[Q, A], question: Q, slack: Mapping[str, float]
    ) -> dict[str, NDArray[np.float64]]:
        """Ask for a sum, and again without the sites that are lost, until all that are left have answered."""
        round_trip = self.costs.round_trips + 1
        public = {name: site.keys.public_key + site.keys.published for name, site in self._joined.items()}
        keys, inputs = keys_digest(public), records.values_of(question)
        attempt = 0
        while True:
            roster = tuple(self.sites)
            bounds = bounds_of(task, question, self.terms, len(roster))
            name = sum_name(task, inputs, bounds, self.luggage.told, self.terms.digest)
            this = SumRound(self.run, name, round_trip, attempt, roster, keys)
            self._request = Request(this, task, question, bounds, slack)
            try:
                return self._attempt(inputs)
            except SitesLostError as lost:
                silent = lost.names
            # Not within `except`: an error of its own would show the other as its cause.
            for site in silent:
                del self.sites[site]
            self.note_lost(silent, len(self.sites))
            attempt += 1

    def collect(self, task: Task[Q, A], question: Q) -> dict[int, A]:
        """Have every site run ``task`` and return what each site has disclosed, by node id.

        Before any site has joined, all connected nodes are asked.

        Raises
        ------
        PanSVMError
            If a site reports an error, or fewer than ``min-sites`` answer.
        """
        check_versions(self.sites, task)
        names = {contact.node_id: name for name, contact in self.sites.items()}
        nodes = list(names) or list(self.grid.get_node_ids())
        content = RecordDict()
        records.write(content, "inputs", question)
        self.luggage.put_broadcasts(content)
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
            self.costs.note_departure(task, "disclosed", name, most)
        if self.transcript and self.schema:
            self.transcript.add_sum(task, question, tuple(self.sites), {})
        return results

    def broadcast(self, broadcast: Broadcast[M], message: M) -> None:
        """Give every site values to keep; they travel with the next messages."""
        self.luggage.take_broadcast(broadcast.name, records.values_of(message))
        if self.transcript:
            self.transcript.add_told(broadcast, message)

    def enrol(self, contacts: Mapping[str, Contact]) -> None:
        """Take in the sites that have joined; their order by name is the ring's."""
        self._joined = dict(sorted(contacts.items()))
        self.sites = dict(self._joined)
        self._names = {contact.node_id: name for name, contact in self._joined.items()}
        self.luggage.take_keys(AllKeys.of({name: contact.keys for name, contact in self._joined.items()}))

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

    def requests(self, inputs: ArrayRecord, config: ConfigRecord) -> list[Message]:
        """Return one message to every site with the inputs of the task at hand."""
        return [
            Message(
                RecordDict({"inputs.arrays": inputs, "inputs.values": config}),
                contact.node_id,
                self._request.task.message_type,
                ttl=self.settings.timeout,
            )
            for contact in self.sites.values()
        ]

    def open(self, replies: Iterable[Message]) -> dict[str, NDArray[np.float64]]:
        """Return the sums that the replies to the request at hand add up to.

        Raises
        ------
        FederationError
            If a sum cannot be, or, where nothing hides it, what a site has contributed.
        """
        task = self._request.task
        contents = {self._name_of(reply.metadata.src_node_id): reply.content for reply in replies}
        sums = open_sums(self._request, contents, self.protocol, self._relay, self._rows)
        for name, total in sums.items():
            if not total.size:
                continue  # a part that was not asked for
            how = "dp" if task.dp else self.settings.level
            if not self.protocol.protected:
                how = "disclosed"
            self.costs.note_departure(task, how, name, total.size)
        return sums

    def _replay(
        self, sites: tuple[str, ...], sums: dict[str, NDArray[np.float64]]
    ) -> dict[str, NDArray[np.float64]]:
        """Return the sums of a checkpoint's entry, after leaving out the sites that were lost by then."""
        missing = [name for name in sites if name not in self.sites]
        if missing:
            raise FederationError(
                f"The checkpoint holds sums over site '{missing[0]}', which has not joined. Start its SuperNode and "
                "resume again, or start a new run without it."
            )
        left_out = [name for name in self.sites if name not in sites]
        if left_out:
            self.sites = {name: self.sites[name] for name in sites}
            self.note_lost(left_out, len(self.sites))
        return sums

    def _attempt(self, inputs: Values) -> dict[str, NDArray[np.float64]]:
        this, evaluating = self._request.this, self._request.task.category == "evaluate"
        packed = RecordDict()
        records.put(packed, "inputs", inputs)
        arrays = cast(ArrayRecord, packed["inputs.arrays"])
        config = cast(ConfigRecord, packed["inputs.values"])
        configure = self.strategy.configure_evaluate if evaluating else self.strategy.configure_train
        messages = list(configure(this.round_trip, arrays, config, self.grid))
        for message in messages:
            put_sum(message.content, this, self._joined)
            self.luggage.put(message.content, self._name_of(message.metadata.dst_node_id))
        with self.costs.wait():
            replies = exchange(self.grid, messages, self.settings.timeout, self.costs, self._names)
        self._check_all_answered(this.roster, replies)
        sums = self._aggregate(this.round_trip, list(replies.values()), evaluating)
        contents = {self._name_of(node): reply.content for node, reply in replies.items()}
        self.luggage.delivered(notes_by_receiver(contents))
        return sums

    def _aggregate(
        self, round_trip: int, replies: list[Message], evaluating: bool
    ) -> dict[str, NDArray[np.float64]]:
        if evaluating:
            metrics = self.strategy.aggregate_evaluate(round_trip, replies) or MetricRecord()
            return {name: np.asarray(values, dtype=np.float64) for name, values in metrics.items()}
        arrays, _ = self.strategy.aggregate_train(round_trip, replies)
        return {name: cast("NDArray[np.float64]", array.numpy()) for name, array in (arrays or {}).items()}

    def _relay(self, step: int, payloads: Mapping[str, bytes]) -> dict[str, bytes]:
        """Take one step of a protocol that needs several; the payloads are ciphertext to the coordinator."""
        contents = {}
        for name, payload in payloads.items():
            content = RecordDict()
            put_sum(content, self._request.this, self._joined)
            records.write(content, "step", RelayStep(step, payload))
            contents[self.sites[name].node_id] = content
        replies = self._exchange(contents, RELAY)
        self._check_all_answered(payloads, replies)
        return {name: payload_of(replies[self.sites[name].node_id].content, name) for name in payloads}

    def _exchange(self, contents: Mapping[int, RecordDict], task: Task[Any, Any]) -> dict[int, Message]:
        timeout = self.settings.timeout
        messages = [
            Message(content, node, task.message_type, ttl=timeout) for node, content in contents.items()
        ]
        with self.costs.wait():
            return exchange(self.grid, messages, timeout, self.costs, self._names)

    def _check_all_answered(self, names: Iterable[str], replies: Mapping[int, Message]) -> None:
        lost = [name for name in names if self.sites[name].node_id not in replies]
        if lost:
            raise SitesLostError(lost)

    def _name_of(self, node_id: int) -> str:
        return self._names[node_id]
