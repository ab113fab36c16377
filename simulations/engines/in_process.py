"""A training with all sites in this process: a Flower Grid that calls the ClientApp here."""

import itertools
import secrets
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from flwr.app import Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from joblib import cpu_count
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from clients.hospital import SimulatedContext
from clients.table.simulated import simulated_nodes
from flower_pansvm.terms import Scalar
from simulations.app import app
from strategies.registry import STRATEGIES
from strategies.settings import Settings
from strategies.strategy import PhasedStrategy

COORDINATOR = 1
"""Node id of the coordinator, as in Flower."""

LEAST_BUSY = 1.25
"""Processors that parallel sites must keep busy; otherwise a run's next messages of this type are answered one after
the other. With small tables the work is Python's own, which runs in one thread at a time. Parallel sites are no help
either on a loaded machine."""


class InProcessGrid(Grid):
    """Sites in this process, one Flower context each; ``replies`` are all that the coordinator received.

    Every message is turned into bytes and back in both directions, as over a network. Each site computes with one
    thread, as on a simulated node with one CPU, so that both engines compute the same numbers. Sites answer in
    parallel, one per processor, except message types for which that has not paid (`LEAST_BUSY`). Without a run id, one
    is drawn as Flower does.
    """

    def __init__(
        self,
        app: ClientApp,
        node_configs: Sequence[dict[str, Scalar]],
        run_config: dict[str, Scalar],
        run_id: int | None = None,
    ) -> None:
        self.app = app
        self.replies: list[Message] = []
        run_id = secrets.randbits(63) if run_id is None else run_id
        self._run = Run.create_empty(run_id)
        self._contexts = {
            node_id: SimulatedContext(run_id, node_id, dict(config), RecordDict(), dict(run_config))
            for node_id, config in enumerate(node_configs, start=COORDINATOR + 1)
        }
        self._one_at_a_time: set[str] = set()
        self._numbers = itertools.count(1)
        self._replies: dict[str, Message] = {}
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = run_id, COORDINATOR, 0

    def set_run(self, run: Run) -> None:
        """Set the run; part of Flower's interface."""
        self._run = run

    @property
    def run(self) -> Run:
        """The run."""
        return self._run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Return a new message; part of Flower's interface."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        """Return the node ids of the sites."""
        return list(self._contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Have each site answer its message, in parallel, and return the message ids."""
        numbered = [(str(next(self._numbers)), message) for message in messages]
        kinds = {message.metadata.message_type for _, message in numbered}
        threads = 1 if kinds <= self._one_at_a_time else cpu_count()
        limit, started, before = _thread_pools().limit, time.perf_counter(), time.process_time()
        with (
            limit(limits=1),
            warnings.catch_warnings(),
            # OpenMP's limit holds for a thread, not the process.
            ThreadPoolExecutor(threads, initializer=lambda: limit(limits=1, user_api="openmp")) as pool,
        ):
            # Sites ignore it themselves, but filters belong to the process: parallel sites undo each other's.
            warnings.filterwarnings("ignore", category=ConvergenceWarning, module="sklearn")
            replies = list(pool.map(self._answer, *zip(*numbered, strict=True))) if numbered else []
        if time.process_time() - before < LEAST_BUSY * (time.perf_counter() - started):
            self._one_at_a_time |= kinds
        self._replies.update(zip((message_id for message_id, _ in numbered), replies, strict=True))
        self.replies.extend(replies)
        return [message_id for message_id, _ in numbered]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies to the given messages."""
        return [
            self._replies.pop(message_id) for message_id in list(message_ids) if message_id in self._replies
        ]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Push messages and return the replies."""
        del timeout
        return self.pull_messages(self.push_messages(messages))

    def _answer(self, message_id: str, message: Message) -> Message:
        message.metadata.__dict__["_message_id"] = message_id
        context = self._contexts[message.metadata.dst_node_id]
        try:
            reply = self.app(_through_bytes(message), context)
        except Exception as error:
            reply = Message(Error(0, type(error).__name__), reply_to=message)
        return _through_bytes(reply)


Kind = TypeVar("Kind", bound=InProcessGrid)


def train_in_process(settings: Settings) -> PhasedStrategy:
    """Run the strategy with all sites in this process and return it, trained."""
    strategy: PhasedStrategy = STRATEGIES[settings.strategy](settings)
    strategy.start(in_process_grid(settings))
    return strategy


def in_process_grid(settings: Settings) -> InProcessGrid:
    """Return a grid with all the sites of a run in this process."""
    return grid_of(InProcessGrid, settings)


def grid_of(kind: type[Kind], settings: Settings) -> Kind:
    """Return a grid of a subclass with all the sites of a run in this process."""
    return kind(app, simulated_nodes(settings.sites), settings.run_config)


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the thread pools of numpy, scipy and scikit-learn, loaded by now; the search takes longer than a reply."""
    return ThreadpoolController()


def _through_bytes(message: Message) -> Message:
    """Return the message after serialisation and parsing."""
    sent = message_to_proto(message)
    received = type(sent)()
    received.ParseFromString(sent.SerializeToString())
    return message_from_proto(received)
