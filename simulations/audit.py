"""What a curious coordinator can find out from what it received in a run: ``pansvm run --audit``.

A cut is a sum Σ c y f over the mapped rows f of all sites, a curvature Σ v f f^T; its last line, which belongs to the
bias, is Σ v f. The coordinator does not know c and v, but it can subtract sums from one another, and where all rows but
one fall out, that row is left. To find out whether that has happened takes the truth, which only a simulation has:
every question of the run is put to every site again, in this process, for the factors c y and v instead of the sums.

Sums by different feature maps are about different f and cannot be combined. Those of a feature selection that are about
the rows x themselves can, whatever the map: of two subsets of the features, what they have in common is left. So can
all cuts with a linear kernel, of which f is a linear map of x. With a protocol that protects nothing the coordinator
has the sums of each site by itself.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from flower_pansvm import messages
from simulations.attack.attack import Attack
from simulations.attack.knowledge import numbers_received, unknown_cells
from simulations.audited_sums import (
    SimulatedSites,
    factors_by_site,
    questions_by_map,
    row_factors_by_site,
    smallest_cluster,
)
from simulations.isolation import isolated_by_pairs, isolated_by_quads
from strategies.results import RESULT_FILE
from strategies.settings import Settings
from strategies.transcript import read_transcript

EXAMINED = {
    task.name
    for task in (messages.LANDMARKS, messages.ASSIGN, messages.CUTS, messages.CLASS_MOMENTS, messages.SUPPORT)
}
"""Tasks whose sums are looked at: landmarks for how many rows are behind each, the others for single rows."""


@dataclass(frozen=True)
class Audit:
    """What was found.

    Parameters
    ----------
    smallest_cluster : int or None
        Fewest rows of one site behind a k-means centre that the coordinator has received; None if it has none.
    isolated_by_pairs, isolated_by_quads : int
        Training rows of the federation whose mapped row follows from the difference of two sums, or of two such
        differences.
    cut_sums, curvature_sums : int
        How many sums the coordinator has learned.
    looked_at_by_quads : int
        How many of all sums the search for quads has looked at: of each feature map, and of those about the rows
        themselves, at most the last 3000.
    row_sums : int
        How many sums about the rows themselves a feature selection has brought: over the support vectors, and over the
        rows of each class, side and fold. Sums of squares, which are over the same rows, are not counted again.
    numbers : dict of str to int
        How many numbers each result has brought the coordinator: each is an equation about the rows.
    unknown : int
        How many cells the training rows have together.
    not_examined : list of str
        Tasks whose sums the coordinator has received and nobody has looked at.
    """

    smallest_cluster: int | None
    isolated_by_pairs: int
    isolated_by_quads: int
    cut_sums: int
    curvature_sums: int
    looked_at_by_quads: int
    row_sums: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    unknown: int = 0
    not_examined: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the findings in one line, then equations against unknowns, and what was not looked at."""
        smallest, sums = self.smallest_cluster, self.cut_sums + self.curvature_sums + self.row_sums
        cluster = "no landmark is a mean of rows" if smallest is None else f"smallest cluster {smallest} rows"
        limited = (
            "" if self.looked_at_by_quads == sums else f" among {self.looked_at_by_quads} of {sums} sums"
        )
        return (
            f"audit: {cluster}; {self.isolated_by_pairs} rows isolated by pairs of sums, "
            f"{self.isolated_by_quads} by quads{limited}{self._ratios()}{self._left_out()}"
        )

    def _left_out(self) -> str:
        return f"\naudit: not examined: {', '.join(self.not_examined)}" if self.not_examined else ""

    def _ratios(self) -> str:
        if not self.unknown:
            return ""
        each = ", ".join(
            f"{count / self.unknown:.1f} from {name}" for name, count in list(self.numbers.items())[:3]
        )
        return (
            f"\naudit: {sum(self.numbers.values()) / self.unknown:.1f} numbers received for each of {self.unknown} "
            f"unknown cells ({each}); --audit=attack tries to solve them"
        )


def audit(settings: Settings, folder: Path) -> Audit:
    """Look at everything the coordinator received in a run with simulated sites.

    Parameters
    ----------
    settings : Settings
        Settings of the run, with ``audit``.
    folder : Path
        The run's folder, with the record of what was asked.
    """
    sites, transcript = SimulatedSites(settings), read_transcript(folder)
    found = _Findings(settings.protocol.protected)
    cut_sums = curvature_sums = 0
    # One thread, as at the sites: the same numbers to the last bit.
    with threadpool_limits(limits=1):
        smallest = smallest_cluster(sites, transcript)
        about_rows = [row_factors_by_site(sites, transcript)]
        row_sums = len(about_rows[0][0])
        # One feature map after the other: the factors of all would not fit into memory after model choice.
        for questions in questions_by_map(sites, transcript).values():
            by_site = factors_by_site(sites, questions)
            if settings.terms.kernel == "linear":
                about_rows.append(by_site)
            else:
                found.look_at(by_site)
            cut_sums += sum(len(one.question.points) for one in questions)
            curvature_sums += sum(one.question.leading >= 0 for one in questions)
        # Those of the rows themselves last: of too many sums, the search for quads looks at the last ones.
        found.look_at([np.vstack(parts[::-1]) for parts in zip(*about_rows, strict=True)])
    pairs, quads = len(found.by_pairs), len(found.by_quads)
    return Audit(
        smallest,
        pairs,
        quads,
        cut_sums,
        curvature_sums,
        found.looked_at,
        row_sums,
        numbers_received(transcript),
        unknown_cells(transcript),
        sorted({one.task for one in transcript} - EXAMINED),
    )


class _Findings:
    """Rows that were found in groups of sums which can be combined with one another."""

    def __init__(self, protected: bool) -> None:
        self.protected = protected
        self.by_pairs: set[int] = set()
        self.by_quads: set[int] = set()
        self.looked_at = 0

    def look_at(self, by_site: Sequence[NDArray[np.float64]]) -> None:
        """Look for rows in one group, given the factors at each site, shape (sums, rows)."""
        first, looked_at = 0, 0
        for factors in [np.hstack(by_site)] if self.protected else by_site:
            quads, looked_at = isolated_by_quads(factors)
            self.by_pairs.update(first + isolated_by_pairs(factors))
            self.by_quads.update(first + quads)
            first += factors.shape[1]
        self.looked_at += looked_at


def add_to_result(folder: Path, found: Audit, attacked: Attack | None = None) -> None:
    """Write the findings of an audit, and of an attack if there was one, into a run's ``result.json``."""
    path = folder / RESULT_FILE
    result = json.loads(path.read_text(encoding="utf-8"))
    findings = {"audit": asdict(found), **({"attack": asdict(attacked)} if attacked else {})}
    text = json.dumps({**result, **findings}, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
