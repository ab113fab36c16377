"""The measured selections beside the figures of Lu 2016, chapters 5 and 6: tables and a plot."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from simulations.benchmarks.paper_data import (
    BEFORE,
    FEATURES,
    GAINS,
    LIBSVM,
    PAN_SVM,
    SEPARATE,
    SIX,
    VOTED,
    WHOLE,
)
from simulations.benchmarks.selection_runs import Figures, SelectionRun
from simulations.benchmarks.tables import markdown

METHODS = {
    "svm-rfe": "SVM-RFE",
    "rsvm": "RSVM",
    "svm-t": "SVM-t",
    "voted-wrapper": "PPFSVW",
    "filter-wrapper": "PPFSIFW",
}
"""The paper's name of each strategy."""
WRAPPERS = ("svm-rfe", "rsvm", "svm-t", "voted-wrapper")
NOT_RUN = "–"


class TextTable(NamedTuple):
    """A table; a cell is what was measured and what the paper says, which may be nothing."""

    title: str
    header: list[str]
    rows: list[tuple[str, list[tuple[str, str]]]]


def tables_of(figures: Figures) -> list[TextTable]:
    """Return the paper's tables as far as there are runs for them, and what the paper does not have."""
    kinds = [(PAN_SVM, SEPARATE), (PAN_SVM, WHOLE), (LIBSVM, SEPARATE), (LIBSVM, WHOLE)]
    gains = [
        _gain_table(
            figures, f"Table {number}: percentage points gained, {classifier}, {scheme}", classifier, scheme
        )
        for number, (classifier, scheme) in zip(("5.5", "5.6", "5.7", "5.8"), kinds, strict=True)
    ]
    found = [
        _voted_table(figures, "5.2", PAN_SVM),
        _voted_table(figures, "5.3", LIBSVM),
        *gains,
        _feature_table(figures, "Table 5.9", SEPARATE, WRAPPERS),
        _filter_gain_table(figures, kinds),
        _both_table(figures),
        _feature_table(figures, "Tables 6.3 and 6.6", SEPARATE, ("filter-wrapper", "voted-wrapper")),
        _feature_table(figures, "Tables 6.3 and 6.6", WHOLE, ("filter-wrapper", "voted-wrapper")),
        *(_chosen_table(figures, classifier) for classifier in (PAN_SVM, LIBSVM)),
        _cost_table(figures),
    ]
    return [table for table in found if any(cell[0] != NOT_RUN for _, cells in table.rows for cell in cells)]


def as_markdown(tables: Iterable[TextTable]) -> str:
    """Return the tables as text, the paper's figures in brackets."""
    parts = []
    for table in tables:
        rows = [
            [name, *(f"{own} ({paper})" if paper else own for own, paper in cells)]
            for name, cells in table.rows
        ]
        parts.append(f"**{table.title}**\n\n{markdown(table.header, rows)}")
    return "\n".join(parts)


def write_csv(tables: Iterable[TextTable], file: Path) -> None:
    """Write every cell of every table as a line: what was measured and what the paper says."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["table", "data", "figure", "measured", "paper"])
        for table in tables:
            for name, cells in table.rows:
                for column, (own, paper) in zip(table.header[1:], cells, strict=True):
                    writer.writerow([table.title, name, column, own, paper])


def plot(figures: Figures, classifier: str, scheme: str, file: Path) -> None:
    """Plot accuracy against number of features, as the paper's Figure 5.8, a panel for each data set."""
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for axes, data in zip(panels, figures.sets, strict=False):
        axes.axhline(
            figures.before(data, "voted-wrapper", classifier, scheme),
            color="0.6",
            linewidth=0.9,
            label="all features",
        )
        for number, (method, name) in enumerate(METHODS.items()):
            curve = figures.curve(data, method, classifier, scheme)
            if curve:
                bold = 1.8 if method == "voted-wrapper" else 1.0
                axes.plot(curve.features, curve.accuracy, color=f"C{number}", linewidth=bold, label=name)
        axes.set(title=data, xlabel="features", ylabel="accuracy, %")
        if max(axes.get_xlim()) > 100:
            axes.set_xscale("log")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[len(figures.sets) :]:
        axes.set_visible(False)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(file, dpi=130)


def _voted_table(figures: Figures, number: str, classifier: str) -> TextTable:
    """PPFSVW before and after, by the best point of the curve as in the paper, and by the choice without test rows."""
    rows = []
    for place, data in _places(figures):
        cells = []
        for scheme in (SEPARATE, WHOLE):
            curve = figures.curve(data, "voted-wrapper", classifier, scheme)
            before, best = (
                figures.before(data, "voted-wrapper", classifier, scheme),
                curve.best[1] if curve else np.nan,
            )
            cells += [
                (_one(before), _one(BEFORE[classifier, scheme][place])),
                (_one(best), _one(VOTED[classifier, scheme][place])),
            ]
        cells.append((_one(figures.chosen(data, "voted-wrapper", classifier, SEPARATE)), ""))
        rows.append((data, cells))
    header = ["data", "CV2 before", "CV2 best", "CV1 before", "CV1 best", "CV2 chosen"]
    return TextTable(f"Table {number}: accuracy of {classifier} before and after PPFSVW, %", header, rows)


def _gain_table(figures: Figures, title: str, classifier: str, scheme: str) -> TextTable:
    def gain(place: int, data: str, method: str) -> tuple[float, float]:
        return figures.best_gain(data, method, classifier, scheme), GAINS[classifier, scheme][method][place]

    return TextTable(
        title, ["data", *(METHODS[method] for method in WRAPPERS)], _summed(figures, WRAPPERS, gain)
    )


def _filter_gain_table(figures: Figures, kinds: Sequence[tuple[str, str]]) -> TextTable:
    names = {f"{classifier} {scheme}": (classifier, scheme) for classifier, scheme in kinds}

    def gain(place: int, data: str, name: str) -> tuple[float, float]:
        paper = GAINS[names[name]]["filter-wrapper"][place]
        return figures.best_gain(data, "filter-wrapper", *names[name]), paper

    return TextTable(
        "Table 6.2: percentage points gained by PPFSIFW",
        ["data", *names],
        _summed(figures, tuple(names), gain),
    )


def _both_table(figures: Figures) -> TextTable:
    names = {
        f"{scheme} {METHODS[method]}": (method, scheme)
        for scheme in (SEPARATE, WHOLE)
        for method in ("filter-wrapper", "voted-wrapper")
    }

    def gain(place: int, data: str, name: str) -> tuple[float, float]:
        method, scheme = names[name]
        return figures.best_gain(data, method, PAN_SVM, scheme), GAINS[PAN_SVM, scheme][method][place]

    title = "Tables 6.3 and 6.5: percentage points gained by both, PAN-SVM"
    return TextTable(title, ["data", *names], _summed(figures, tuple(names), gain))


def _feature_table(figures: Figures, number: str, scheme: str, methods: Sequence[str]) -> TextTable:
    rows = []
    for place, data in _places(figures):
        cells = []
        for method in methods:
            curve = figures.curve(data, method, PAN_SVM, scheme)
            paper = str(FEATURES[scheme][method][place])
            cells.append((str(curve.best[0]) if curve else NOT_RUN, paper))
        rows.append((data, cells))
    title = f"{number}: features of the best point, PAN-SVM, {scheme}"
    return TextTable(title, ["data", *(METHODS[method] for method in methods)], rows)


def _chosen_table(figures: Figures, classifier: str) -> TextTable:
    """CV2 with the subset chosen by cross-validation of the training rows: what a user may expect."""
    rows = []
    for _, data in _places(figures):
        cells = [(_chosen(figures.of(data, method, classifier, SEPARATE)), "") for method in METHODS]
        rows.append((data, cells))
    title = f"Chosen within the training rows, CV2, {classifier}: accuracy before and after, %, and features"
    return TextTable(title, ["data", *METHODS.values()], rows)


def _chosen(runs: Sequence[SelectionRun]) -> str:
    if not runs:
        return NOT_RUN
    accuracies = [run.accuracy(run.chosen) for run in runs]
    spread = f" ± {np.std(accuracies):.1f}" if len(runs) > 1 else ""
    before, count = (np.mean([run.accuracy(run.most) for run in runs]), np.mean([run.chosen for run in runs]))
    return f"{before:.1f} → {np.mean(accuracies):.1f}{spread}, {count:.0f}"


def _cost_table(figures: Figures) -> TextTable:
    rows = []
    for _, data in _places(figures):
        for method, name in METHODS.items():
            runs = figures.of(data, method, PAN_SVM, SEPARATE)
            if runs:
                steps = float(np.mean([len(run.points) - 1 for run in runs]))
                trips = float(np.mean([run.round_trips for run in runs]))
                cells = [
                    f"{len(runs)}",
                    f"{steps:.0f}",
                    f"{trips:.0f}",
                    f"{trips / steps:.0f}",
                    f"{np.mean([run.megabytes for run in runs]):.1f}",
                    f"{np.mean([run.seconds for run in runs]):.0f}",
                ]
                rows.append((f"{data}, {name}", [(cell, "") for cell in cells]))
    header = ["data", "runs", "steps", "round trips", "per step", "MB a site sends", "seconds"]
    return TextTable("What a selection costs, PAN-SVM, CV2", header, rows)


def _summed(
    figures: Figures, columns: Sequence[str], gain: Callable[[int, str, str], tuple[float, float]]
) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return a row for each data set and one of the sums over those that are there."""
    found: Mapping[str, list[tuple[float, float]]] = {
        data: [gain(place, data, column) for column in columns] for place, data in _places(figures)
    }
    rows = [(data, [(_gain(own), _gain(paper)) for own, paper in cells]) for data, cells in found.items()]
    sums = np.sum(list(found.values()), axis=0)
    return [*rows, ("sum", [(_gain(own), _gain(paper)) for own, paper in sums])]


def _places(figures: Figures) -> list[tuple[int, str]]:
    return [(place, one.data) for place, one in enumerate(SIX) if one.data in figures.sets]


def _one(value: float) -> str:
    return NOT_RUN if np.isnan(value) else f"{value:.1f}"


def _gain(value: float) -> str:
    return NOT_RUN if np.isnan(value) else f"{value + 0.0:+.1f}"
