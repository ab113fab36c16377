"""The plots that figures of papers need: bars with deviations, and a line for each data set."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from simulations.papers.reproduction import Cell

MOST_BANDS = 4
"""Most lines of a panel with bands of deviations."""


def bars(
    title: str, cells: Sequence[Cell], ylabel: str, size: tuple[float, float] = (7, 4.2), **axis: Any
) -> Figure:
    """Return a bar for each row, a colour for each column; whiskers are deviations, black lines the paper's numbers.

    ``axis`` are matplotlib's properties of the axes.
    """
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    rows, columns = (
        list(dict.fromkeys(cell.row for cell in cells)),
        list(dict.fromkeys(cell.column for cell in cells)),
    )
    width = 0.8 / len(columns)
    for index, column in enumerate(columns):
        shown = {cell.row: cell for cell in cells if cell.column == column and cell.ours is not None}
        positions = [
            tick + (index - (len(columns) - 1) / 2) * width for tick, row in enumerate(rows) if row in shown
        ]
        heights = [shown[row].ours or 0.0 for row in rows if row in shown]
        errors = [shown[row].deviation or 0.0 for row in rows if row in shown]
        axes.bar(positions, heights, width, yerr=errors, capsize=2, label=column)
        printed = [cell.paper for cell in shown.values() if cell.paper is not None]
        if len(printed) == len(positions):
            axes.plot(
                positions, printed, "_", color="black", markersize=9, label="the paper" if not index else None
            )
    axes.set(title=title, ylabel=ylabel, **axis)
    axes.set_xticks(range(len(rows)), rows, rotation=30, ha="right")
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    _legend(figure)
    return figure


def _legend(figure: Figure) -> None:
    """Put the legend of the first panel beside the figure."""
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside right upper", frameon=False)


def curves(title: str, cells: Sequence[Cell], xlabel: str, ylabel: str, panels: int = 1) -> Figure:  # noqa: ARG001
    """Return a line for each row over columns whose names begin with a number; of a few lines, bands are deviations.

    With ``panels`` above 1 the first word of a row's name, before a comma, names its panel, and the rest its line.
    The title is not drawn: panels have their own.
    """
    names = {cell.row: cell.row.split(", ")[0] if panels > 1 else "" for cell in cells}
    titles = list(dict.fromkeys(names.values()))
    figure = Figure(figsize=(7, 4.4) if panels == 1 else (11, 6.4), layout="constrained")
    grid = np.atleast_1d(
        figure.subplots(1 if panels == 1 else 2, 1 if panels == 1 else (panels + 1) // 2)
    ).ravel()
    for axes, panel in zip(grid, titles, strict=False):
        rows = [row for row, name in names.items() if name == panel]
        for row in rows:
            shown = [cell for cell in cells if cell.row == row and cell.ours is not None]
            x = [float(cell.column.split()[0]) for cell in shown]
            y = np.array([cell.ours for cell in shown], dtype=float)
            deviation = np.array([cell.deviation for cell in shown], dtype=float)
            (line,) = axes.plot(x, y, marker="o", markersize=3, label=row.removeprefix(f"{panel}, "))
            if len(rows) <= MOST_BANDS:
                axes.fill_between(
                    x, y - deviation, y + deviation, color=line.get_color(), alpha=0.15, linewidth=0
                )
        axes.set(title=panel, xlabel=xlabel, ylabel=ylabel)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(titles) :]:
        axes.set_visible(False)
    _legend(figure)
    return figure
