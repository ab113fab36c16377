"""What a semi-honest coordinator can learn from a run: ``pansvm run --audit``.

Each system's file in `simulations.attack.systems` counts what its replies disclose. The audit adds the numbers received
for each unknown cell and, at level `exact`, how many records Hessians determine, at `perturbed` the best use of all
copies. A task that no system examines is named, and never counts as 0.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from flower_pansvm.result_file import read_result
from simulations.attack.attack import records_of_sites
from simulations.attack.copies import WholeCopy, whole_copy
from simulations.attack.counting import determined_by_hessians
from simulations.attack.knowledge import numbers_received, unknown_cells
from simulations.attack.systems.system import every_audit
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import read_transcript
from strategies.report.words.system import sentences, words_of_tasks
from strategies.settings import Settings


@dataclass(frozen=True)
class Audit:
    """The findings of an audit."""

    # Figures of the systems (:attr:`strategies.report.words.system.SystemWords.figures`).
    figures: dict[str, float | None] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)  # received values by result, each an equation
    unknown: int = 0  # cells of all training rows
    not_examined: list[str] = field(default_factory=list)  # tasks with results that no system examines
    rows: int = 0  # training records
    # Training records identifiable to 10 percent from exact Hessians, linearised at the truth; None if unknown.
    determined: int | None = None
    whole_copy: WholeCopy | None = None  # at level `perturbed`, the best use of all copies

    @property
    def entries(self) -> dict[str, Any]:
        """The findings as entries of ``result.json``, which has ``rows`` elsewhere."""
        others = {name: value for name, value in asdict(self).items() if name not in ("figures", "rows")}
        return {**self.figures, **others}

    def __str__(self) -> str:
        """Return the findings, equations and unknowns, and unexamined tasks, a line each."""
        lines = ["; ".join(sentences(self.entries)) or "nothing about single rows was received"]
        if self.whole_copy:
            lines.append(f"level perturbed, {self.whole_copy}")
        elif self.determined is not None:
            lines.append(
                f"exact Hessians determine {self.determined} of {self.rows} training records to 10 % of a deviation: "
                "the coordinator can compute these, and others by differences of sums, as --audit=attack does"
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
    """Audit a run of simulated sites by the transcript in its folder."""
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
    examined = {task for task, words in words_of_tasks().items() if words.examined}
    # Sums from before a run was resumed are in the transcript only.
    received = {entry["task"] for entry in read_result(folder)["disclosed"]} | {
        entry.task for entry in transcript
    }
    return Audit(
        figures=figures,
        numbers=numbers_received(transcript),
        unknown=unknown_cells(transcript),
        not_examined=sorted(received - examined),
        rows=sum(int(site.trained.sum()) for site in records),
        determined=determined,
        whole_copy=whole_copy(records) if settings.level == "perturbed" and records else None,
    )
