"""How many round trips training takes, and whom they give away: presets, and each ingredient by itself."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from simulations.audit.audit import Audit, audit
from simulations.benchmarks.paper_data import NINE, PaperSet, paper_settings
from simulations.engines.running import in_process_grid
from simulations.markdown import markdown
from strategies.app import run
from strategies.pan_svm import PanSVM
from strategies.settings import Settings

EXACT = {"preset": "exact"}
VARIANTS: Mapping[str, Mapping[str, object]] = {
    "private": {"tol": 1e-3},
    "exact": EXACT,
    "without curvature": {**EXACT, "curvature": 0.0},
    "without warm start": {**EXACT, "warm_start": False},
    "without blur": {**EXACT, "blur": "0"},
    "one point on the line": {**EXACT, "points": 1},
    "none of them": {**EXACT, "curvature": 0.0, "warm_start": False, "blur": "0", "points": 1},
    "paper": {"preset": "paper"},
}
"""The presets, and the exact one with one ingredient taken away at a time."""


class Training(NamedTuple):
    """One training run."""

    data: str
    variant: str
    rank: int
    cut_rounds: int
    round_trips: int
    gaps: list[float]
    audit: Audit


def measure(data_dir: Path, show: Callable[[str], None], sets: tuple[PaperSet, ...] = NINE) -> list[Training]:
    """Train on every set with every variant, in process, and audit each run."""
    found = []
    for one in sets:
        for variant, changes in VARIANTS.items():
            settings = paper_settings(one, one.data, data_dir=str(data_dir), audit=True, **changes)
            found.append(_train(one.data, variant, settings))
            last = found[-1]
            show(f"{one.data}, {variant}: {last.cut_rounds} rounds; {last.audit}")
    return found


def markdown_of(found: list[Training]) -> str:
    """Return a table of round trips, with the rows that pairs and quads of cuts give away."""
    cells = {(one.data, one.variant): one for one in found}
    sets = list(dict.fromkeys(one.data for one in found))
    rows = [
        [
            f"{data} (rank {cells[data, 'private'].rank})",
            *(_cell(cells[data, variant]) for variant in VARIANTS),
        ]
        for data in sets
    ]
    total = ["all", *(str(sum(cells[data, variant].cut_rounds for data in sets)) for variant in VARIANTS)]
    note = (
        "Round trips of cutting planes to a gap of 1e-3; in brackets the rows that a pair of sums isolates, and a pair "
        "of pairs. Five sites.\n"
    )
    return f"{note}\n{markdown(['data', *VARIANTS], [*rows, total])}"


def plot(found: list[Training], file: Path) -> None:
    """Plot the gap after each round trip of all presets, a panel for each data set."""
    sets = list(dict.fromkeys(one.data for one in found))
    columns = min(3, len(sets))
    lines = -(-len(sets) // columns)
    figure = Figure(figsize=(3.6 * columns, 2.6 * lines), layout="constrained")
    panels = np.atleast_1d(figure.subplots(lines, columns, sharey=True)).ravel()
    for axes, data in zip(panels, sets, strict=False):
        for variant, colour in (
            ("paper", "#7f7f7f"),
            ("exact", "#ff7f0e"),
            ("private", "#1f77b4"),
        ):
            gaps = next(one.gaps for one in found if (one.data, one.variant) == (data, variant))
            axes.semilogy(
                range(1, len(gaps) + 1), gaps, color=colour, marker=".", markersize=3, label=variant
            )
        axes.axhline(1e-3, color="black", linewidth=0.6, linestyle=":")
        axes.set_title(data, fontsize=9)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[len(sets) :]:
        axes.set_visible(False)
    figure.supxlabel("round trips of cutting planes", fontsize=9)
    figure.supylabel("relative gap between the bounds", fontsize=9)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(file, dpi=130)


def _train(data: str, variant: str, settings: Settings) -> Training:
    with tempfile.TemporaryDirectory() as name:
        folder, settings = Path(name), replace(settings, out=name)
        strategy = run(in_process_grid(settings), settings, folder)
        assert isinstance(strategy, PanSVM)
        (state,) = strategy.training.progress
        gaps = [(upper - lower) / upper for upper, lower in strategy.training.history[0]]
        return Training(
            data,
            variant,
            state.problem.rank,
            state.rounds,
            strategy.federation.costs.round_trips,
            gaps,
            audit(settings, folder),
        )


def _cell(one: Training) -> str:
    return f"{one.cut_rounds} ({one.audit.isolated_by_pairs}, {one.audit.isolated_by_quads})"
