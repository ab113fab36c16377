"""The accuracy of private models as tables and a plot."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from simulations.benchmarks.private_methods import EXACT, MAJORITY, SETS
from simulations.markdown import markdown

OURS = "dp-svm"
COLOURS = {OURS: "#1f77b4", "hybrid-svm": "#2ca02c", "private-svm": "#9467bd", "diffprivlib": "#ff7f0e"}
PLOTTED = ("heart", "diabetes", "breast_cancer", "australian", "spambase", "letter")


class PrivateRun(NamedTuple):
    """A model that was measured: a line of ``runs.csv``."""

    data: str
    method: str
    epsilon: float  # 0: without a promise
    seed: int
    accuracy: float
    numbers_per_site: int
    round_trips: int


def markdown_of(runs: Sequence[PrivateRun]) -> str:
    """Return a table of accuracies with standard deviations and splits, one of methods, and one of what is sent."""
    sets, epsilons = [data for data in SETS if any(run.data == data for run in runs)], _epsilons(runs)
    methods = [method for method in _unique(run.method for run in runs) if method not in {EXACT, MAJORITY}]
    accuracy = [
        [
            data,
            *(_with_deviation(_of(runs, data, OURS, epsilon)) for epsilon in epsilons),
            *(_with_deviation(_of(runs, data, method)) for method in (EXACT, MAJORITY)),
        ]
        for data in sets
    ]
    beside = [
        [data, f"{epsilon:g}", *(_mean(_of(runs, data, method, epsilon)) for method in methods)]
        for data in sets
        for epsilon in epsilons
        if any(_of(runs, data, method, epsilon) for method in methods)
    ]
    sent = [
        [data, f"{epsilon:g}", _numbers(own), _trips(own)]
        for data in sets
        for epsilon in epsilons
        if (own := _of(runs, data, OURS, epsilon))
    ]
    header = [f"ε = {epsilon:g}" for epsilon in epsilons]
    return "\n".join(
        [
            f"{OURS}, percent of the test rows: mean ± standard deviation of a split (splits).\n",
            markdown(["set", *header, EXACT, MAJORITY], accuracy),
            "Beside others, mean in percent.\n",
            markdown(["set", "ε", *methods], beside),
            f"What a site sends with {OURS}; it depends on the noisy number of rows.\n",
            markdown(["set", "ε", "numbers", "round trips"], sent),
        ]
    )


def plot(runs: Sequence[PrivateRun], file: Path) -> None:
    """Plot accuracy against epsilon with its standard error, a panel for each of `PLOTTED` that was measured."""
    there = {run.data for run in runs}
    sets = [data for data in PLOTTED if data in there]
    columns = min(3, max(len(sets), 1))
    lines = max(-(-len(sets) // columns), 1)
    figure = Figure(figsize=(3.3 * columns, 2.4 * lines + 0.6), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    legend: dict[str, Artist] = {}
    for axes, data in zip(panels, sets, strict=False):
        _draw(axes, [run for run in runs if run.data == data], _epsilons(runs))
        axes.set_title(data, fontsize=10)
        handles, labels = axes.get_legend_handles_labels()
        legend |= dict(zip(labels, handles, strict=True))
    for axes in panels[len(sets) :]:
        axes.set_visible(False)
    figure.supxlabel("ε of the whole run, δ = 1e-5", fontsize=9)
    figure.supylabel("test accuracy, %", fontsize=9)
    figure.legend(
        list(legend.values()), list(legend), loc="outside upper center", ncols=len(legend) or 1, frameon=False
    )
    figure.savefig(file, dpi=120)


def _draw(axes: Axes, runs: Sequence[PrivateRun], epsilons: Sequence[float]) -> None:
    for method, style in ((EXACT, "-"), (MAJORITY, ":")):
        own = [100 * run.accuracy for run in runs if run.method == method]
        if own:
            axes.axhline(fmean(own), color="black", linewidth=1, linestyle=style, label=method)
    for method in _unique(run.method for run in runs if run.epsilon):
        kind = method.split()[0]  # without its settings
        by_epsilon = {
            epsilon: [100 * run.accuracy for run in runs if (run.method, run.epsilon) == (method, epsilon)]
            for epsilon in epsilons
        }
        there = [epsilon for epsilon in epsilons if by_epsilon[epsilon]]
        if there:
            axes.errorbar(
                there,
                [fmean(by_epsilon[epsilon]) for epsilon in there],
                yerr=[_error(by_epsilon[epsilon]) for epsilon in there],
                color=COLOURS.get(kind),
                marker="o",
                markersize=4,
                capsize=2,
                label=kind,
            )
    axes.set_xscale("log")
    axes.set_xticks(list(epsilons), labels=[f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _of(runs: Iterable[PrivateRun], data: str, method: str, epsilon: float = 0.0) -> list[PrivateRun]:
    return [run for run in runs if (run.data, run.method, run.epsilon) == (data, method, epsilon)]


def _epsilons(runs: Iterable[PrivateRun]) -> list[float]:
    return sorted({run.epsilon for run in runs if run.epsilon})


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _mean(runs: Sequence[PrivateRun]) -> str:
    return f"{100 * fmean(run.accuracy for run in runs):.1f}" if runs else ""


def _with_deviation(runs: Sequence[PrivateRun]) -> str:
    if not runs:
        return ""
    spread = f" ± {100 * stdev(run.accuracy for run in runs):.1f}" if len(runs) > 1 else ""
    return f"{_mean(runs)}{spread} ({len(runs)})"


def _numbers(runs: Sequence[PrivateRun]) -> str:
    return f"{fmean(run.numbers_per_site for run in runs):,.0f}"


def _trips(runs: Sequence[PrivateRun]) -> str:
    return "–".join(str(trips) for trips in sorted({run.round_trips for run in runs}))


def _error(values: Sequence[float]) -> float:
    """Return the standard error of a mean."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
