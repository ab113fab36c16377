"""The plots of a comparison, narrow enough for a telephone."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from simulations.comparison.summary import SCENARIO

WIDTH, ROW = 5.2, 0.27
"""Width of a plot, and height of a strategy in it, in inches."""


def accuracy_figure(
    runs: pd.DataFrame, limits: tuple[float, float], strategies: Sequence[str], baselines: Collection[str]
) -> Figure:
    """Plot the accuracy of each strategy in one scenario: each run, and mean ± standard deviation.

    ``limits`` of the axis are the same for all scenarios of a data set. Baselines are grey and hollow.
    """
    figure = Figure(figsize=(WIDTH, 0.75 + ROW * len(strategies)))
    axes = figure.subplots()
    for row, name in enumerate(strategies):
        # The accuracy is the same with all secure sums.
        values = runs[runs["strategy"] == name].groupby("repeat")["accuracy"].mean().dropna().to_numpy()
        if not len(values):
            axes.text(limits[0], row, " no run", va="center", fontsize=8, color="C3")
            continue
        colour, face = ("0.45", "white") if name in baselines else ("C0", "C0")
        axes.plot(values, np.full(len(values), row), "|", color=colour, alpha=0.6, markersize=10)
        spread = values.std(ddof=1) if len(values) > 1 else 0.0
        axes.errorbar(values.mean(), row, xerr=spread, fmt="o", capsize=3, color=colour, markerfacecolor=face)
    axes.set_yticks(range(len(strategies)), list(strategies), fontsize=9)
    axes.set_ylim(len(strategies) - 0.5, -0.5)
    axes.set_xlim(*limits)
    axes.set_xlabel("accuracy on test rows", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(visible=True, color="0.92", axis="x")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def limits_of(runs: pd.DataFrame) -> tuple[float, float]:
    """Return the limits of an axis for all accuracies of a data set, and for the whiskers of all its plots."""
    known = runs.dropna(subset="accuracy")
    if known.empty:
        return 0.0, 1.0
    plotted = known.groupby([*SCENARIO, "strategy", "repeat"])["accuracy"].mean()
    groups = plotted.groupby([*SCENARIO, "strategy"])
    mean, spread = groups.mean(), groups.std().fillna(0.0)
    low = min(float(known["accuracy"].min()), float((mean - spread).min()))
    high = max(float(known["accuracy"].max()), float((mean + spread).max()))
    room = max(0.01, 0.06 * (high - low))
    return low - room, min(high + room, max(high, 1.0) + room / 2)
