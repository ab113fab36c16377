"""What a curious coordinator can find out from what it received in a run: ``pansvm run --audit``.

Each system's file in `simulations.attack.systems` counts what its answers give away. Besides, the audit says how many
numbers were received for each unknown cell, and what level the run was at: at `exact` how many records Hessians
determine, at `perturbed` the most that can be made of all copies. A task that no system's words name as examined is
named, and never counts as 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from flower_pansvm.result_file import read_result, write_result
from simulations.attack.attack import records_of_sites
from simulations.attack.copies import WholeCopy, whole_copy
from simulations.attack.counting import determined_by_hessians
from simulations.attack.knowledge import numbers_received, unknown_cells
from simulations.attack.systems.system import every_audit
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum, read_transcript
from strategies.report.words.system import every_system, sentences
from strategies.settings import Settings


@dataclass(frozen=True)
class Audit:
    """What was found."""

    # What the systems say (:attr:`strategies.report.words.system.SystemWords.texts`).
    figures: dict[str, float | None] = field(default_factory=dict)
    # How many numbers each result has brought the coordinator: each is an equation about the rows.
    numbers: dict[str, int] = field(default_factory=dict)
    unknown: int = 0  # how many cells the training rows have together
    # Tasks whose results the coordinator has received and nobody has looked at.
    not_examined: list[str] = field(default_factory=list)
    rows: int = 0  # training records
    # How many of them exact Hessians determine to 10 percent, made linear at the truth; None if unknown.
    determined: int | None = None
    # At level `perturbed`, the most that can be made of all that may ever leave.
    whole_copy: WholeCopy | None = None

    @property
    def entries(self) -> dict[str, Any]:
        """The findings as entries of ``result.json``, which has the rows elsewhere."""
        others = {name: value for name, value in asdict(self).items() if name not in ("figures", "rows")}
        return {**self.figures, **others}

    def __str__(self) -> str:
        """Return the findings in one line, then equations against unknowns, and what was not looked at."""
        lines = ["; ".join(sentences(self.entries)) or "nothing about single rows was received"]
        if self.whole_copy:
            lines.append(f"level perturbed, {self.whole_copy}")
        elif self.determined is not None:
            lines.append(
                f"exact Hessians determine {self.determined} of {self.rows} training records to 10 % of a deviation: "
                "whoever runs the coordinator can compute these, and others by differences of sums, which "
                "--audit=attack tries"
            )
        if self.unknown:
            each = ", ".join(
                f"{count / self.unknown:.1f} from {name}" for name, count in list(self.numbers.items())[:3]
            )
            lines.append(
                f"{sum(self.numbers.values()) / self.unknown:.1f} numbers received for each of {self.unknown} unknown "
                f"cells ({each}); --audit=attack tries to solve them"
            )
        if self.not_examined:
            lines.append(f"not examined: {', '.join(self.not_examined)}")
        return "\n".join(f"audit: {line}" for line in lines)


def audit(settings: Settings, folder: Path) -> Audit:
    """Look at everything the coordinator received in a run of simulated sites, which its folder has the record of."""
    transcript = read_transcript(folder)
    sites = SimulatedSites(settings)
    figures: dict[str, float | None] = {}
    # One thread, as at the sites: the same numbers to the last bit.
    with threadpool_limits(limits=1):
        for of_system in every_audit().values():
            figures.update(of_system(sites, transcript))
        records = records_of_sites(settings, transcript)
        determined = (
            determined_by_hessians(transcript, records) if settings.level == "exact" and records else None
        )
    return Audit(
        figures=figures,
        numbers=numbers_received(transcript),
        unknown=unknown_cells(transcript),
        not_examined=sorted(
            _answered(transcript, folder) - {task for one in every_system().values() for task in one.examined}
        ),
        rows=sum(int(one.trained.sum()) for one in records),
        determined=determined,
        whole_copy=whole_copy(records) if settings.level == "perturbed" and records else None,
    )


def _answered(transcript: Sequence[TranscriptSum], folder: Path) -> set[str]:
    """Return the names of all tasks of which the coordinator has received a result, summed or disclosed."""
    # What was summed before a run was resumed is in the record only.
    return {one.task for one in transcript} | {one["task"] for one in read_result(folder)["disclosed"]}


def add_to_result(folder: Path, findings: Mapping[str, Any]) -> None:
    """Add entries, such as those of an audit, to a run's ``result.json``."""
    write_result(folder, {**read_result(folder), **findings})
