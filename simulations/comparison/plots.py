"""The plots of a comparison. They are narrow, so that they can be read on a telephone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

WIDTH = 5.2
"""Inches."""

ROW = 0.27
"""Inches for a strategy."""

COLOURS = ("#0b6e99", "#d1495b", "#edae49", "#30638e", "#66a182", "#8d6a9f", "#c46d2d", "#4f5d75", "#a23b72")
"""Of strategies, one after the other."""

BASELINE = "0.45"
"""Grey of the baselines."""

Style = dict[str, Any]
"""Colour and marker of a strategy, as matplotlib's arguments."""


def styles(strategies: Sequence[str], baselines: Sequence[str]) -> dict[str, Style]:
    """Return a colour and a marker for each strategy; baselines are grey, and hollow."""
    federated = [name for name in strategies if name not in baselines]
    found: dict[str, Style] = {}
    for number, name in enumerate(federated):
        colour = COLOURS[number % len(COLOURS)]
        # Seven shapes and nine colours: printed in grey the shapes tell them apart.
        found[name] = {"color": colour, "marker": "oD^vsP*"[number % 7], "markerfacecolor": colour}
    for number, name in enumerate(one for one in strategies if one in baselines):
        found[name] = {"color": BASELINE, "marker": "oDs^vP*X"[number % 8], "markerfacecolor": "white"}
    return {name: found[name] for name in strategies}


def accuracy_figure(runs: pd.DataFrame, limits: tuple[float, float], shown: dict[str, Style]) -> Figure:
    """Draw the accuracy of each strategy at one place: every run, and mean ± standard deviation.

    Parameters
    ----------
    runs : DataFrame
        The runs of one data set, split and setting.
    limits : tuple of float
        Of the axis; those of all places of a data set, so that they can be compared.
    shown : dict
        Style of each strategy, in the order from top to bottom.
    """
    figure = Figure(figsize=(WIDTH, 0.75 + ROW * len(shown)), layout="constrained")
    axes = figure.subplots()
    for place, (name, style) in enumerate(shown.items()):
        # All secure sums give the same accuracy.
        values = runs[runs["strategy"] == name].groupby("repeat")["accuracy"].mean().dropna().to_numpy()
        if not len(values):
            axes.text(limits[0], place, " no run", va="center", fontsize=8, color="C3")
            continue
        axes.plot(values, np.full(len(values), place), "|", color=style["color"], alpha=0.6, markersize=10)
        spread = values.std(ddof=1) if len(values) > 1 else 0.0
        axes.errorbar(
            values.mean(), place, xerr=spread, fmt="", capsize=3, markersize=6, elinewidth=1.4, **style
        )
    axes.set_yticks(range(len(shown)), list(shown), fontsize=9)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(*limits)
    axes.set_xlabel("accuracy on test rows", fontsize=9)
    _plain(axes)
    return figure


def cost_figure(points: pd.DataFrame, cost: str, label: str, shown: dict[str, Style]) -> Figure | None:
    """Draw what strategies lose against the best one over what they cost; None if none costs anything.

    Parameters
    ----------
    points : DataFrame
        From `simulations.comparison.summary.overview`.
    cost : str
        Column of the cost.
    label : str
        Name of the axis.
    shown : dict
        Style of each strategy.
    """
    points = points.dropna(subset=["below", cost]).loc[
        lambda known: [name for name in shown if name in known.index]
    ]
    paid = points[points[cost] > 0]
    if paid.empty:
        return None
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    axes = figure.subplots()
    for name, point in points.iterrows():
        style, text = shown[str(name)], str(name)
        if point[cost] > 0:
            axes.plot(point[cost], point["below"], linestyle="", markersize=8, label=text, **style)
        else:
            axes.axhline(point["below"], color=BASELINE, linewidth=0.8, linestyle=":")
            edge = axes.get_yaxis_transform()
            axes.plot(0.985, point["below"], transform=edge, linestyle="", markersize=6, label=text, **style)
    axes.set_xscale("log")
    axes.set_xlim(paid[cost].min() / 1.8, paid[cost].max() * 2.6)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(points["below"].max() * 1.08 + 0.1, -0.1 - 0.04 * points["below"].max())
    axes.set_xlabel(label, fontsize=9)
    axes.set_ylabel("points below the best", fontsize=9)
    _plain(axes)
    axes.grid(visible=True, color="0.92", axis="y")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def limits_of(accuracies: "pd.Series[float]") -> tuple[float, float]:
    """Return the ends of an axis on which all accuracies are."""
    known = accuracies.dropna()
    if known.empty:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    room = max(0.01, 0.06 * (high - low))
    return low - room, min(high + room, 1.0 + room / 2)


def _plain(axes: Axes) -> None:
    axes.tick_params(labelsize=8)
    axes.grid(visible=True, color="0.92", axis="x")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
