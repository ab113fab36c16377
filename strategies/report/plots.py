"""The plots of the report, made from ``result.json``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, ScalarFormatter
from numpy.typing import NDArray

from strategies.report.curves import Band, RocCurve, own_point
from strategies.report.selecting import chosen_subset

MOST_LINES = 8
"""Problems and classes up to which each line has a name."""

SMALLEST_GAP = 1e-16
"""What a gap of 0 counts for on a logarithmic axis."""

LOWEST = 0.05
"""Smallest gap that is shown, in shares of the one at which training stops."""

MOST_LINEAR = 100
"""Numbers of features up to which their axis is linear."""

MOST_MARKERS = 60
"""Points of a line that are marked one by one."""


def roc_figure(result: Mapping[str, Any], curves: Sequence[RocCurve]) -> Figure:
    """Draw ROC curves, of few classes one by one; of two classes also where the model is."""
    figure, axes = _square(
        "chance", "share of the others taken for the class", "share of the class that is found"
    )
    few, several = len(curves) <= MOST_LINES, len(curves) > 1
    for curve in curves:
        label = curve.name if few and several else None
        axes.plot(
            curve.alarms, curve.hits, linewidth=1.4 if few else 0.7, color=None if few else "C0", label=label
        )
    point = own_point(result)
    if point is not None and curves:
        axes.plot(*point, "x", color="C3", markersize=9, markeredgewidth=2, label="the model")
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    return figure


def calibration_figure(bands: Sequence[Band]) -> Figure:
    """Draw which share of patients has the class, with its interval, against the probability that the model gives."""
    figure, axes = _square("as it should be", "probability that the model gives", "share that has the class")
    given = np.array([band.probability for band in bands], dtype=np.float64)
    values = np.array([band.share.value for band in bands])
    ends = np.array([(band.share.low, band.share.high) for band in bands]).T
    style: dict[str, Any] = {"fmt": "o", "capsize": 3, "markersize": 4, "linewidth": 1.0}
    axes.errorbar(given, values, yerr=np.abs(ends - values), label="observed, 95% interval", **style)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    return figure


def _square(diagonal: str, xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    """Return a figure of two shares with a diagonal that is called so."""
    figure = Figure(figsize=(4.6, 4.2))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.5", linewidth=0.9, linestyle="--", label=diagonal)
    axes.set(xlabel=xlabel, ylabel=ylabel, aspect="equal")
    axes.grid(visible=True, color="0.9")
    return figure, axes


def convergence_figure(result: Mapping[str, Any]) -> Figure:
    """Draw the relative gap of every problem against cutting-plane round trips."""
    figure = Figure(figsize=(6.2, 3.6))
    axes = figure.subplots()
    gaps = [_gaps(history) for history in result["convergence"]]
    few = len(gaps) <= MOST_LINES
    for curve in gaps:
        axes.semilogy(range(1, len(curve) + 1), curve, "o-", markersize=3.5, linewidth=1.2 if few else 0.5)
    if 1 < len(gaps) <= MOST_LINES:
        names = [problem["problem"] for problem in result["objective"]]
        axes.legend(axes.lines, names, fontsize=8, frameon=False)
    tol = result["tolerance"]
    axes.axhline(tol, color="0.4", linewidth=0.9, linestyle="--")
    where: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "left", "va": "bottom"}
    axes.annotate(f"stop at {tol:g}", (0.01, tol), fontsize=8, **where)
    axes.set_ylim(bottom=LOWEST * tol)
    axes.set(xlabel="cutting-plane round trip", ylabel="(upper − lower) / upper bound")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    # 0.01 is read more easily than a power, and drawn in half the time.
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True, which="major", color="0.9")
    return figure


def selection_figure(result: Mapping[str, Any]) -> Figure | None:
    """Draw the accuracy against the number of features that the filters left; None if only one number was tried."""
    # What lies between all features and those that the filters left was not tried.
    most = len(result["filters"]["kept"]) if result["filters"] else len(result["ranking"])
    points = [point for point in result["accuracy_by_count"] if point["features"] <= most]
    points.sort(key=lambda point: point["features"])
    if len(points) < 2:
        return None
    figure = Figure(figsize=(6.2, 3.6))
    axes = figure.subplots()
    counts = [point["features"] for point in points]
    means = np.array([point["accuracy"] for point in points])
    deviations = np.array([point["deviation"] for point in points])
    low, high = np.maximum(means - deviations, 0), np.minimum(means + deviations, 1)
    axes.fill_between(counts, low, high, color="C0", alpha=0.15, linewidth=0)
    marker = "o-" if len(points) <= MOST_MARKERS else "-"
    folds = f"{result['config']['cv-folds']} folds, mean ± deviation"
    axes.plot(counts, means, marker, markersize=3.5, linewidth=1.2, label=folds)
    if points[0]["test_accuracy"] is not None:
        on_test_rows = [point["test_accuracy"] for point in points]
        axes.plot(counts, on_test_rows, "-", color="C1", linewidth=1.0, label="test rows")
    chosen = chosen_subset(result)
    point = (chosen["features"], chosen["accuracy"])
    axes.axvline(point[0], color="C3", linewidth=0.9, linestyle="--")
    axes.plot(*point, "o", color="C3", markersize=6, label=f"chosen: {point[0]}")
    _set_axis_of_counts(axes, points[-1]["features"])
    axes.set_ylabel("accuracy")
    axes.grid(visible=True, which="major", color="0.9")
    axes.legend(fontsize=8, frameon=False)
    return figure


def _set_axis_of_counts(axes: Axes, largest: int) -> None:
    """Show numbers of features in full, on a logarithmic axis if there are many."""
    axes.set_xlabel("number of features")
    if largest <= MOST_LINEAR:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    axes.set_xscale("log")
    axes.set_xlim(1 / 1.1, 1.1 * largest)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _gaps(history: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    bounds = np.array(history)
    upper, lower = bounds[:, 0], bounds[:, 1]
    gaps = np.divide(upper - lower, upper, out=np.zeros(len(upper)), where=upper > 0)
    floored: NDArray[np.float64] = np.maximum(gaps, SMALLEST_GAP)
    return floored
