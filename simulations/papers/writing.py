"""A reproduction as CSV, a page in Markdown and a picture in a folder."""

import csv
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from simulations.markdown import markdown
from simulations.papers.reproduction import Cell, Reproduction

NOT_RUN = "–"

HEADER = (
    *("name", "row", "column", "unit", "ours", "deviation", "low", "high", "runs", "paper"),
    *("commit", "date"),
)
"""Of the CSV files; ``low`` and ``high`` are the ends of the 95 % interval of ours.

They may lie beyond what a percentage can be: from an interval that is cut, nobody could compute its standard error.
"""


def text_of(cell: Cell | None, digits: int) -> str:
    """Return a cell as ours ± deviation (the paper's; the difference)."""
    if cell is None:
        return ""
    ours = NOT_RUN if cell.ours is None else f"{cell.ours:.{digits}f}"
    spread = f" ± {cell.deviation:.{digits}f}" if cell.deviation is not None and cell.runs > 1 else ""
    if cell.paper is None:
        return ours + spread
    difference = "" if cell.difference is None else f"; {cell.difference:+.{digits}f}"
    return f"{ours}{spread} ({cell.paper:.{digits}f}{difference})"


def grid_of(cells: Sequence[Cell], digits: int) -> tuple[list[str], list[list[str]]]:
    """Return header and lines of the table of all cells."""
    columns, rows = (list(dict.fromkeys(getattr(cell, name) for cell in cells)) for name in ("column", "row"))
    by_position = {(cell.row, cell.column): cell for cell in cells}
    lines = [[row, *(text_of(by_position.get((row, column)), digits) for column in columns)] for row in rows]
    return ["", *columns], lines


def line_of(name: str, what: Reproduction, cell: Cell) -> list[object]:
    """Return a cell as a line of a CSV file, in the order of `HEADER`; numbers have six digits."""
    low, high = cell.interval or (None, None)
    numbers = (cell.ours, cell.deviation, low, high, cell.runs, cell.paper)
    texts = ["" if value is None else f"{value:.6g}" for value in numbers]
    return [name, cell.row, cell.column, what.unit, *texts, " ".join(cell.commits), cell.date]


def write(
    name: str, what: Reproduction, cells: Sequence[Cell], took: Sequence[str], folder: Path
) -> list[Path]:
    """Write ``NAME.csv``, ``NAME.md`` and, for a figure, ``NAME.png`` into a folder, and return these files.

    ``took`` is lines on the runs and their duration.
    """
    files = [folder / f"{name}.csv", folder / f"{name}.md"]
    with files[0].open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(HEADER)
        writer.writerows(line_of(name, what, cell) for cell in cells)
    parts = [
        f"# {what.title}, {what.unit}\n",
        "Ours ± deviation over seeds (the paper's; the difference).\n",
        markdown(*grid_of(cells, what.digits)),
    ]
    if what.plot is not None:
        figure = what.plot(what.title, cells)
        files.append(folder / f"{name}.png")
        figure.savefig(files[-1], dpi=130)
        parts.append(f"![{what.title}]({name}.png)\n")
    known_beside = {
        "The paper says": what.said,
        "Substituted": what.substituted,
        "Errors of the paper": what.errors,
    }
    for heading, lines in known_beside.items():
        parts += [f"{heading}:\n", *(f"- {line}" for line in lines), ""] if lines else []
    parts += [*took, machine()]
    files[1].write_text("\n".join(parts) + "\n", encoding="utf-8")
    return files


def machine() -> str:
    """Return a line on the machine and the time of the measurement."""
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC on {os.cpu_count()} cores ({platform.machine()}, "
        f"Python {platform.python_version()}); load average over 1, 5 and 15 minutes at the end: {load}."
    )
