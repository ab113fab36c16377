"""Messages to nodes and their replies: send, wait, raise a site's error; and the costs of a run."""

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from flwr.app import Array, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError

from flower_pansvm.errors import FederationError, PanSVMError
from flower_pansvm.lists import first_of
from flower_pansvm.log import logger
from flower_pansvm.printable import printable
from flower_pansvm.tasks import Task
from strategies.federation.packed_grid import PackedGrid

POLL_SECONDS = 0.02
"""First pause between polls for replies; each is a quarter longer than the last, up to SLOWEST_POLL_SECONDS."""

SLOWEST_POLL_SECONDS = 0.25

RESEND_SECONDS, RESEND_PAUSE_SECONDS = 60.0, 2.0
"""Time after a request in which it is sent again to a node that did not receive it or whose reply was lost, and the
pause between."""

INTERRUPTED_SECONDS = 5.0
"""At a deployment, what takes longer to send or to look for had to wait for a server that was away: one that was killed
is not started again before."""

UNDELIVERED = (
    ErrorCode.MESSAGE_UNAVAILABLE,
    ErrorCode.REPLY_MESSAGE_UNAVAILABLE,
    ErrorCode.NODE_UNAVAILABLE,
)
"""Flower's codes of requests and replies that a restart of the SuperLink or a broken connection has lost."""

PATIENCE_SECONDS = 15.0
"""Interval of the log lines that name the sites without a reply."""

NUMBER_BYTES = 8
"""Bytes that :func:`message_size` counts for a single number."""


@dataclass
class Costs:
    """Costs counted by :class:`strategies.federation.federation.Federation` and reported in ``result.json``."""

    round_trips: int = 0
    bytes_up: int = 0  # bytes of all records from the sites to the coordinator
    bytes_down: int = 0  # bytes of all records from the coordinator to the sites
    waiting: float = 0.0  # wall-clock seconds from a request to the last reply, over all round trips
    # Of each phase: wall-clock seconds, CPU seconds of this process, round trips, bytes up and down, seconds of waiting
    # and of work.
    phases: dict[str, dict[str, float]] = field(default_factory=dict)
    # Of each task and result: level of its sums or "disclosed", numbers that left each site, number of times.
    disclosures: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)  # sites that stopped answering
    # Of each round trip: bytes-up, bytes-down and seconds, and what `note` has added.
    rounds: dict[int, dict[str, float]] = field(default_factory=dict)
    _cpu_waiting: float = 0.0

    @property
    def work(self) -> float:
        """CPU seconds of this process so far, without those in which it waits for replies."""
        return time.process_time() - self._cpu_waiting

    def note(self, **figures: float) -> None:
        """Add figures to those of the latest round trip."""
        self.rounds.setdefault(self.round_trips, {}).update(figures)

    @contextmanager
    def wait(self) -> Iterator[None]:
        """Measure the time from a request to the last reply; in a process with the sites it includes their work."""
        started, cpu_started = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            self.waiting += time.monotonic() - started
            self._cpu_waiting += time.process_time() - cpu_started

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure a phase, and log its begin and its costs."""
        logger.info("%s begins", name)
        before = self._counts()
        yield
        added = {kind: count - before[kind] for kind, count in self._counts().items()}
        earlier = self.phases.get(name, {})
        self.phases[name] = {kind: earlier.get(kind, 0) + count for kind, count in added.items()}
        seconds, trips = self.phases[name]["seconds"], added["round_trips"]
        logger.info("%-16s %5.1f s  %d round trip%s", name, seconds, trips, "" if trips == 1 else "s")

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


NAMED = 5
"""Sites that a reason names at most."""


def exchange(
    grid: Grid,
    messages: Iterable[Message],
    timeout: float,
    costs: Costs,
    names: Mapping[int, str],
    needed: int | None = None,
) -> dict[int, Message]:
    """Send messages and return the replies: one round trip.

    Parameters
    ----------
    messages : iterable of Message
        At most one for each node.
    timeout : float
        Seconds to wait. Later and second replies are ignored.
    costs : Costs
        Counts the round trip and its bytes.
    names : mapping of int to str
        Known names of the sites by node id.
    needed : int, optional
        How many replies are enough for errors of other sites to be logged only; by default no number is.

    Returns
    -------
    dict of int to Message
        The replies by node id, without nodes that did not reply in time or whose process failed.

    Raises
    ------
    PanSVMError
        If a site reports an error of this project: repeating the request would not help. Its text is made printable.
    """
    messages = list(messages)
    down, up, begun = sum(message_size(message.content) for message in messages), 0, time.monotonic()
    costs.round_trips += 1
    costs.bytes_down += down
    replies: dict[int, Message] = {}
    errors: list[tuple[int, str, str]] = []
    for node, reply in _arrivals(grid, messages, timeout, names):
        if reply.has_content() and reply.metadata.src_node_id != node:
            errors.append((FederationError.code, f"Node {node} answered in the name of another node.", ""))
        elif reply.has_content():
            replies[node] = reply
            up += message_size(reply.content)
        elif reply.error.code >= PanSVMError.code:
            errors.append((reply.error.code, printable(reply.error.reason or ""), names.get(node, "")))
        else:
            node_name = names.get(node, f"node {node}")
            logger.warning("%s cannot be reached (Flower's error code %d)", node_name, reply.error.code)
    costs.bytes_up += up
    costs.note(**{"bytes-up": up, "bytes-down": down, "seconds": time.monotonic() - begun})
    if needed is not None and len(replies) >= needed:
        for line in by_reason((reason, name) for _, reason, name in errors):
            logger.warning("%s", line)
    elif errors:
        codes = {code for code, _, _ in errors}
        error = _error_class(codes.pop()) if len(codes) == 1 else FederationError
        raise error("\n".join(by_reason((reason, name) for _, reason, name in errors)))
    return replies


def by_reason(errors: Iterable[tuple[str, str]]) -> list[str]:
    """Return the different reasons of sites; one of several sites that differs by their own names only names them all.

    ``errors`` are reason and site. The name is that in the text if it is empty, as it is before a site has joined.
    """
    alike: dict[str, set[str]] = {}
    for reason, known in errors:
        named = re.search(r"[Ss]ite '([^']+)'", reason)
        name = known or (named[1] if named else "")
        # No printable text has this sign.
        alike.setdefault(reason.replace(f"'{name}'", "\0") if name else reason, set()).add(f"'{name}'")
    lines = []
    for reason, who in alike.items():
        first, *others = sorted(who)
        again = f" The same at {first_of(others, NAMED)}." if others and "\0" in reason else ""
        lines.append(reason.replace("\0", first) + again)
    return sorted(lines)


def _arrivals(
    grid: Grid, messages: list[Message], timeout: float, names: Mapping[int, str]
) -> Iterator[tuple[int, Message]]:
    """Send messages and yield each node's first reply when it comes, until all have come or time is up.

    Lost requests and replies are sent again; a site repeats its reply without computing it again. A request that a
    SuperLink hands out as it is killed is lost without a word: who is silent for a while after that is asked again.
    """
    asked = time.monotonic()
    waiting, resend = _push(grid, messages), set[int]()
    begun, pause, reports = time.monotonic(), POLL_SECONDS, 1
    sent, ask_again = begun, math.inf
    while (waiting or resend) and time.monotonic() < begun + timeout:
        looked = time.monotonic()
        arrived = list(grid.pull_messages(set(waiting))) if waiting else []
        # Flower waits for minutes for the rest of a reply that a killed SuperLink has lost: no site is late by that.
        begun += max(0.0, time.monotonic() - looked - PATIENCE_SECONDS)
        if isinstance(grid, PackedGrid) and time.monotonic() - asked > INTERRUPTED_SECONDS:
            ask_again = time.monotonic() + PATIENCE_SECONDS
        elif time.monotonic() > ask_again:
            resend, ask_again = {*resend, *waiting.values()}, math.inf
        asked = time.monotonic()
        for reply in arrived:
            # A failed node's reply does not carry its node id, so replies are matched by what they reply to.
            node = waiting.pop(reply.metadata.reply_to_message_id, None)
            if node is None:
                continue
            undelivered = reply.has_error() and reply.error.code in UNDELIVERED
            if undelivered and time.monotonic() - begun < min(RESEND_SECONDS, timeout - RESEND_PAUSE_SECONDS):
                resend.add(node)
            else:
                waiting = {message_id: other for message_id, other in waiting.items() if other != node}
                resend.discard(node)
                yield node, reply
        if resend and time.monotonic() - sent > RESEND_PAUSE_SECONDS:
            waiting |= _push(
                grid, [_copy(message) for message in messages if message.metadata.dst_node_id in resend]
            )
            resend, sent = set(), time.monotonic()
        seconds = time.monotonic() - begun
        if (waiting or resend) and seconds > reports * PATIENCE_SECONDS:
            late = sorted(names.get(node, f"node {node}") for node in {*waiting.values(), *resend})
            logger.info("waiting for %s since %.0f s", ", ".join(late), seconds)
            reports += 1
        if waiting or resend:
            time.sleep(pause)
            pause = min(1.25 * pause, SLOWEST_POLL_SECONDS)


def _copy(question: Message) -> Message:
    """Return a copy of a message: Flower accepts each only once."""
    metadata = question.metadata
    return Message(question.content, metadata.dst_node_id, metadata.message_type, ttl=metadata.ttl)


def _push(grid: Grid, messages: list[Message]) -> dict[str, int]:
    """Push messages to Flower and return the node of each message id, without messages that Flower refused."""
    deadline = time.monotonic() + RESEND_SECONDS
    while True:
        try:
            ids = list(grid.push_messages(messages))
            break
        except ObjectPushError:  # the SuperLink has restarted and lost the push
            if time.monotonic() > deadline:
                raise
            messages = list(map(_copy, messages))
            time.sleep(RESEND_PAUSE_SECONDS)
    if len(ids) != len(messages):
        raise FederationError(
            "Flower's SuperLink refused a message as too large. Use fewer landmarks or fewer points per round trip, "
            "or raise the SuperLink's limit."
        )
    nodes = (message.metadata.dst_node_id for message in messages)
    return {message_id: node for message_id, node in zip(ids, nodes, strict=True) if message_id}


def _error_class(code: int) -> type[PanSVMError]:
    """Return the class of errors with a code, the base class for an unknown one."""
    # Only classes that define a code: others share the base's.
    return next(
        (error for error in PanSVMError.__subclasses__() if vars(error).get("code") == code), PanSVMError
    )


def message_size(content: RecordDict) -> int:
    """Return the bytes of all values and their names, without Flower's framing."""
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
