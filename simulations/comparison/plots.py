"""The plots of a comparison. They are narrow, so that they can be read on a telephone."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

WIDTH, ROW = 5.2, 0.27
"""Inches of a plot, and of a strategy in it."""


def accuracy_figure(
    runs: pd.DataFrame, limits: tuple[float, float], strategies: Sequence[str], baselines: Collection[str]
) -> Figure:
    """Draw the accuracy of each strategy, from top to bottom, at one place: each run, mean ± standard deviation.

    The limits of the axis are those of all places of a data set, so that they can be compared. Baselines are grey,
    and hollow.
    """
    figure = Figure(figsize=(WIDTH, 0.75 + ROW * len(strategies)), layout="constrained")
    axes = figure.subplots()
    for place, name in enumerate(strategies):
        # All secure sums give the same accuracy.
        values = runs[runs["strategy"] == name].groupby("repeat")["accuracy"].mean().dropna().to_numpy()
        if not len(values):
            axes.text(limits[0], place, " no run", va="center", fontsize=8, color="C3")
            continue
        colour, face = ("0.45", "white") if name in baselines else ("C0", "C0")
        axes.plot(values, np.full(len(values), place), "|", color=colour, alpha=0.6, markersize=10)
        spread = values.std(ddof=1) if len(values) > 1 else 0.0
        axes.errorbar(
            values.mean(), place, xerr=spread, fmt="o", capsize=3, color=colour, markerfacecolor=face
        )
    axes.set_yticks(range(len(strategies)), list(strategies), fontsize=9)
    axes.set_ylim(len(strategies) - 0.5, -0.5)
    axes.set_xlim(*limits)
    axes.set_xlabel("accuracy on test rows", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(visible=True, color="0.92", axis="x")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def limits_of(accuracies: "pd.Series[float]") -> tuple[float, float]:
    """Return the ends of an axis on which all accuracies are."""
    known = accuracies.dropna()
    if known.empty:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    room = max(0.01, 0.06 * (high - low))
    return low - room, min(high + room, 1.0 + room / 2)
