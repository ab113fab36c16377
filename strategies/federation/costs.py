"""What a run cost and what left each site: round trips, bytes, seconds, disclosures, sites that were lost."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import INFO
from typing import Any

from flwr.common.logger import log

from flower_pansvm.tasks import Task


@dataclass
class Costs:
    """Counts kept by :class:`strategies.federation.federation.Federation` and reported in ``result.json``.

    Attributes
    ----------
    round_trips : int
        Times that all sites were asked and answered.
    bytes_up, bytes_down : int
        Bytes of all records from the sites to the coordinator, and back.
    waiting : float
        Wall-clock seconds from a question to the last answer, over all round trips.
    seconds : dict of str to float
        Wall-clock seconds of each phase.
    added : dict of str to dict
        Round trips, bytes up and down, seconds of waiting and of work of each phase.
    disclosures : dict
        For each task and result, the level of its sums, or that it was disclosed; how many numbers left each site, and
        how often.
    dropped : list of str
        Sites that stopped answering.
    """

    round_trips: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    waiting: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    added: dict[str, dict[str, float]] = field(default_factory=dict)
    disclosures: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    _processor_waiting: float = 0.0

    @property
    def work(self) -> float:
        """Processor seconds of this process so far, without those in which it waits for answers."""
        return time.process_time() - self._processor_waiting

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
        started, before = time.monotonic(), self._counts()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started
        added = {kind: count - before[kind] for kind, count in self._counts().items()}
        earlier = self.added.get(name, {})
        self.added[name] = {kind: earlier.get(kind, 0) + count for kind, count in added.items()}
        trips = added["round_trips"]
        log(
            INFO, "%-16s %5.1f s  %d round trip%s", name, self.seconds[name], trips, "" if trips == 1 else "s"
        )

    def _counts(self) -> dict[str, float]:
        kinds = ("round_trips", "bytes_up", "bytes_down", "waiting", "work")
        return {kind: getattr(self, kind) for kind in kinds}

    def phases(self) -> dict[str, dict[str, float]]:
        """Return seconds, waiting, work, round trips and bytes of each phase for ``result.json``."""
        return {
            name: {kind: round(count, 3) for kind, count in {"seconds": seconds, **self.added[name]}.items()}
            for name, seconds in self.seconds.items()
        }

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
