"""Messages to nodes and back: send, wait, turn a site's error into an exception; and what all of it costs."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import INFO, WARNING
from typing import Any

from flwr.app import Array, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError

from flower_pansvm.errors import FederationError, PanSVMError
from flower_pansvm.printable import printable
from flower_pansvm.tasks import Task
from strategies.log import log

POLL_SECONDS = 0.02
"""First wait before asking Flower for replies; each is a quarter longer than the last, up to SLOWEST_POLL_SECONDS."""

SLOWEST_POLL_SECONDS = 0.25

AGAIN_SECONDS, AGAIN_PAUSE_SECONDS = 60.0, 2.0
"""How long after a question a node that cannot be reached, or whose reply was lost, is asked again, and how often."""

LOST_ON_THE_WAY = (
    ErrorCode.MESSAGE_UNAVAILABLE,
    ErrorCode.REPLY_MESSAGE_UNAVAILABLE,
    ErrorCode.NODE_UNAVAILABLE,
)
"""Flower's codes for what a SuperLink that is started again, or a connection that breaks, does to a question or reply.
"""

PATIENCE_SECONDS = 15.0
"""After each such time without all replies a line says who is waited for."""

NUMBER_BYTES = 8
"""What a single number counts for in :func:`message_size`."""


@dataclass
class Costs:
    """Counts kept by :class:`strategies.federation.federation.Federation` and reported in ``result.json``."""

    round_trips: int = 0  # times that all sites were asked and answered
    bytes_up: int = 0  # bytes of all records from the sites to the coordinator
    bytes_down: int = 0  # and back
    waiting: float = 0.0  # wall-clock seconds from a question to the last answer, over all round trips
    # Of each phase: wall-clock seconds, CPU seconds of this process, round trips, bytes up and down, seconds of waiting
    # and of work.
    phases: dict[str, dict[str, float]] = field(default_factory=dict)
    # Of each task and result: level of its sums or that it was disclosed, numbers that left each site, how often.
    disclosures: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)  # sites that stopped answering
    # Of each round trip: bytes-up, bytes-down and seconds, and what `note` has added.
    rounds: dict[int, dict[str, float]] = field(default_factory=dict)
    _processor_waiting: float = 0.0

    @property
    def work(self) -> float:
        """Processor seconds of this process so far, without those in which it waits for answers."""
        return time.process_time() - self._processor_waiting

    def note(self, **figures: float) -> None:
        """Add figures to those of the latest round trip."""
        self.rounds.setdefault(self.round_trips, {}).update(figures)

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Measure the time from a question to the last answer; in one process with the sites their work is in it."""
        started, processor = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            self.waiting += time.monotonic() - started
            self._processor_waiting += time.process_time() - processor

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure a phase, and write a line when it begins and one about it when it is over."""
        log(INFO, "%s begins", name)
        before = self._counts()
        yield
        added = {kind: count - before[kind] for kind, count in self._counts().items()}
        earlier = self.phases.get(name, {})
        self.phases[name] = {kind: earlier.get(kind, 0) + count for kind, count in added.items()}
        seconds, trips = self.phases[name]["seconds"], added["round_trips"]
        log(INFO, "%-16s %5.1f s  %d round trip%s", name, seconds, trips, "" if trips == 1 else "s")

    def _counts(self) -> dict[str, float]:
        kinds = ("round_trips", "bytes_up", "bytes_down", "waiting", "work")
        clocks = {"seconds": time.monotonic(), "cpu_seconds": time.process_time()}
        return clocks | {kind: getattr(self, kind) for kind in kinds}

    def record_disclosure(self, task: Task[Any, Any], how: str, result: str, numbers: int) -> None:
        """Count a result that has left every site, of ``numbers`` values at one site."""
        key = (task.name, result)
        entry = self.disclosures.setdefault(
            key, {"task": task.name, "result": result, "how": how, "numbers_per_site": 0, "times": 0}
        )
        entry["numbers_per_site"] += numbers
        entry["times"] += 1

    def disclosed(self) -> list[dict[str, Any]]:
        """Return the disclosures as a list for ``result.json``."""
        return list(self.disclosures.values())


def exchange(
    grid: Grid, messages: Iterable[Message], timeout: float, costs: Costs, names: Mapping[int, str]
) -> dict[int, Message]:
    """Send messages and return the replies; this is one round trip.

    Parameters
    ----------
    grid : Grid
        Flower's grid.
    messages : iterable of Message
        At most one for each node.
    timeout : float
        Seconds to wait. What arrives later, or a second time, is never looked at.
    costs : Costs
        Counts the round trip and its bytes.
    names : mapping of int to str
        Names of the sites by node id, as far as they are known.

    Returns
    -------
    dict of int to Message
        The replies by node id; a node that did not answer in time, or whose process failed, is not in it.

    Raises
    ------
    PanSVMError
        If a site reports an error of this project's: asking again would not help. Its text is made safe to show.
    """
    messages = list(messages)
    down, up, begun = sum(message_size(message.content) for message in messages), 0, time.monotonic()
    costs.round_trips += 1
    costs.bytes_down += down
    replies: dict[int, Message] = {}
    faults: list[tuple[int, str]] = []
    for node, reply in _arrivals(grid, messages, timeout, names):
        if reply.has_content() and reply.metadata.src_node_id != node:
            faults.append((FederationError.code, f"Node {node} answered in the name of another node."))
        elif reply.has_content():
            replies[node] = reply
            up += message_size(reply.content)
        elif reply.error.code >= PanSVMError.code:
            faults.append((reply.error.code, printable(reply.error.reason or "")))
        else:
            who = names.get(node, f"node {node}")
            log(WARNING, "%s cannot be reached (Flower's error code %d)", who, reply.error.code)
    costs.bytes_up += up
    costs.note(**{"bytes-up": up, "bytes-down": down, "seconds": time.monotonic() - begun})
    if faults:
        codes = {code for code, _ in faults}
        error = _error_class(codes.pop()) if len(codes) == 1 else FederationError
        raise error("\n".join(sorted({reason for _, reason in faults})))
    return replies


def _arrivals(
    grid: Grid, messages: list[Message], timeout: float, names: Mapping[int, str]
) -> Iterator[tuple[int, Message]]:
    """Ask, and yield each node's first reply when it comes, until all are there or time is up; log who is waited for.

    What is lost on the way is asked for again. A site gives the same reply to it: it does not compute a second one.
    """
    waiting, again = _push(grid, messages), set[int]()
    begun, pause, told = time.monotonic(), POLL_SECONDS, 1
    deadline, asked = begun + timeout, begun
    while (waiting or again) and time.monotonic() < deadline:
        for reply in grid.pull_messages(set(waiting)) if waiting else ():
            # A failed node's reply does not carry its node id, so replies are matched by what they reply to.
            node = waiting.pop(reply.metadata.reply_to_message_id, None)
            if node is None:
                continue
            lost = reply.has_error() and reply.error.code in LOST_ON_THE_WAY
            if lost and time.monotonic() - begun < min(AGAIN_SECONDS, timeout - AGAIN_PAUSE_SECONDS):
                again.add(node)
            else:
                yield node, reply
        if again and time.monotonic() - asked > AGAIN_PAUSE_SECONDS:
            waiting |= _push(grid, [_copy(one) for one in messages if one.metadata.dst_node_id in again])
            again, asked = set(), time.monotonic()
        seconds = time.monotonic() - begun
        if (waiting or again) and seconds > told * PATIENCE_SECONDS:
            late = sorted(names.get(node, f"node {node}") for node in {*waiting.values(), *again})
            log(INFO, "waiting for %s since %.0f s", ", ".join(late), seconds)
            told += 1
        if waiting or again:
            time.sleep(pause)
            pause = min(1.25 * pause, SLOWEST_POLL_SECONDS)


def _copy(question: Message) -> Message:
    """Return a question as a new message: Flower takes none twice."""
    to = question.metadata
    return Message(question.content, to.dst_node_id, to.message_type, ttl=to.ttl)


def _push(grid: Grid, messages: list[Message]) -> dict[str, int]:
    """Hand messages to Flower and return the node of each message id; one it did not take is left out."""
    deadline = time.monotonic() + AGAIN_SECONDS
    while True:
        try:
            ids = list(grid.push_messages(messages))
            break
        except ObjectPushError:  # the SuperLink was started again meanwhile, and has forgotten the push
            if time.monotonic() > deadline:
                raise
            messages = list(map(_copy, messages))
            time.sleep(AGAIN_PAUSE_SECONDS)
    if len(ids) != len(messages):
        raise FederationError(
            "Flower's SuperLink refused a message as too large. Use fewer landmarks or fewer points per round trip, "
            "or raise the SuperLink's limit."
        )
    nodes = (message.metadata.dst_node_id for message in messages)
    return {message_id: node for message_id, node in zip(ids, nodes, strict=True) if message_id}


def _error_class(code: int) -> type[PanSVMError]:
    """Return the class of errors whose code a site has sent, the base class for an unknown one."""
    # Of those that have a code of their own: others share the base's.
    return next((one for one in PanSVMError.__subclasses__() if vars(one).get("code") == code), PanSVMError)


def message_size(content: RecordDict) -> int:
    """Return the bytes of all values and their names; Flower's own framing comes on top."""
    total = 0
    for record in content.values():
        for name, value in record.items():
            total += len(name.encode())
            if isinstance(value, Array):
                total += len(value.data)
            elif isinstance(value, str):
                total += len(value.encode())
            elif isinstance(value, bytes):
                total += len(value)
            elif isinstance(value, list):
                total += sum(len(str(item).encode()) for item in value)
            else:
                total += NUMBER_BYTES
    return total
