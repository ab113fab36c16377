"""What a run cost and what left each site: round trips, bytes, seconds, disclosures, sites that were lost."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import INFO
from typing import Any

from flwr.common.logger import log

from flower_pansvm.tasks.task import Task


@dataclass
class Costs:
    """Counts kept by :class:`strategies.federation.federation.Federation` and reported in ``result.json``.

    Attributes
    ----------
    round_trips : int
        Times that all sites were asked and answered.
    bytes_up, bytes_down : int
        Bytes of all records from the sites to the coordinator, and back.
    seconds : dict of str to float
        Wall-clock seconds of each phase.
    traffic : dict of str to dict
        Round trips and bytes, up and down, of each phase.
    departures : dict
        For each task and result, whether it was summed, summed with the sites' secret noise in it, or disclosed,
        how many numbers left each site, and how often.
    dropped : list of str
        Sites that stopped answering.
    """

    round_trips: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    traffic: dict[str, dict[str, int]] = field(default_factory=dict)
    departures: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure a phase, and write a line when it begins and one about it when it is over."""
        log(INFO, "%s begins", name)
        started, before = time.monotonic(), self._traffic()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - started
        added = {kind: count - before[kind] for kind, count in self._traffic().items()}
        earlier = self.traffic.get(name, {})
        self.traffic[name] = {kind: earlier.get(kind, 0) + count for kind, count in added.items()}
        trips = added["round_trips"]
        log(
            INFO, "%-16s %5.1f s  %d round trip%s", name, self.seconds[name], trips, "" if trips == 1 else "s"
        )

    def _traffic(self) -> dict[str, int]:
        return {kind: getattr(self, kind) for kind in ("round_trips", "bytes_up", "bytes_down")}

    def phases(self) -> dict[str, dict[str, float]]:
        """Return seconds, round trips and bytes of each phase for ``result.json``."""
        return {
            name: {"seconds": round(seconds, 3), **self.traffic[name]}
            for name, seconds in self.seconds.items()
        }

    def note_departure(self, task: Task[Any, Any], how: str, result: str, numbers: int) -> None:
        """Count a result that has left every site, of ``numbers`` values at one site."""
        key = (task.name, result)
        entry = self.departures.setdefault(
            key, {"task": task.name, "result": result, "how": how, "numbers_per_site": 0, "times": 0}
        )
        entry["numbers_per_site"] += numbers
        entry["times"] += 1

    def disclosed(self) -> list[dict[str, Any]]:
        """Return the departures as a list for ``result.json``."""
        return list(self.departures.values())
