"""Where the time of a training at hospitals went: our own work, and waiting for Flower and the network.

What the coordinator did is in ``result.json``. How long an answer took follows from a hospital's rows, so a hospital
writes that into its own log and does not send it; who has all logs, as in a trial on one machine, can add up.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from clients.gate.answering import SPENT
from strategies.results import RESULT_FILE

_WORK = re.compile(re.escape(SPENT).replace("%s", "[^']+").replace(r"%\.3f", r"(\d+\.\d+)"))


@dataclass(frozen=True)
class TimeSpent:
    """The time of one training.

    Parameters
    ----------
    round_trips : int
        Questions to all hospitals.
    seconds, waiting : float
        Of the training by the coordinator's clock, and those of them from a question to the last answer.
    coordinator : float
        Processor seconds of the coordinator's own work.
    hospital, start : float
        Processor seconds of the hospital that worked most: on its answers, and before them to start a process for each.
    """

    round_trips: int
    seconds: float
    waiting: float
    coordinator: float
    hospital: float
    start: float

    @classmethod
    def of(cls, results: Path, logs: Iterable[Path]) -> Self:
        """Return the time of the training that has left a folder of results and the hospitals' logs."""
        result = json.loads((results / RESULT_FILE).read_text(encoding="utf-8"))
        phases = result["phases"].values()
        seconds, waiting, work = (
            sum(phase[kind] for phase in phases) for kind in ("seconds", "waiting", "work")
        )
        hospital, start = max(map(_of_log, logs), default=(0.0, 0.0))
        return cls(result["round_trips"], seconds, waiting, work, hospital, start)

    @property
    def share(self) -> float:
        """Our work, the coordinator's and that of one hospital after it, as a share of the training's seconds."""
        return (self.coordinator + self.hospital) / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        """Return the time in one line."""
        return (
            f"{self.round_trips} round trips in {self.seconds:.0f} s, of which {self.waiting:.0f} s of waiting for "
            f"answers; our work {100 * self.share:.1f} %: {self.coordinator:.2f} s of processor time at the "
            f"coordinator, at most {self.hospital:.2f} s at a hospital, where Flower's processes took {self.start:.1f} "
            "s to start"
        )


def _of_log(log: Path) -> tuple[float, float]:
    """Return the processor seconds on answers, and those before them, that a hospital's log has."""
    found = _WORK.findall(log.read_text(encoding="utf-8", errors="replace"))
    return sum(float(work) for _, work, _ in found), sum(float(start) for *_, start in found)
