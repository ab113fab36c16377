"""The figures of the page ``docs/reproduction.md``: ``docs/reproduced/PAPER.csv``, filled from folders of runs.

``python -m simulations.papers.record FOLDER`` adds the cells whose runs ``pansvm reproduce --out FOLDER`` has done: of
a table that was stopped, those with at least one repeat. Other cells stay as they are, and so does a cell that was
recorded with more repeats.
"""

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from simulations.comparison.finished import read_runs
from simulations.comparison.workers import Result
from simulations.papers.declared import all_reproductions
from simulations.papers.reproduction import Cell, Reproduction, Setup
from simulations.papers.writing import HEADER, line_of

REPRODUCED = Path(__file__).parents[2] / "docs" / "reproduced"
COMMIT_DIGITS = 7

Lines = dict[tuple[str, str, str], dict[str, str]]
"""Lines of a file by table, row and column."""


def recorded(work: str, folder: Path = REPRODUCED) -> Lines:
    """Return the lines of a paper's file; empty if there is none."""
    file = folder / f"{work}.csv"
    if not file.exists():
        return {}
    with file.open(newline="", encoding="utf-8") as stream:
        return {(line["name"], line["row"], line["column"]): line for line in csv.DictReader(stream)}


def record(runs: Mapping[str, Result], folder: Path = REPRODUCED) -> list[Path]:
    """Write the results of runs into the files of their papers, and return these files.

    Parameters
    ----------
    runs : mapping
        Results of runs by their keys as JSON, as `read_runs` has them.
    folder : Path
        Of the files.
    """
    done = {key: result for key, result in runs.items() if "error" not in result}
    works: dict[str, Lines] = {}
    for name, what in all_reproductions().items():
        lines = works.setdefault(what.work, recorded(what.work, folder))
        for cell in done_cells(what, done):
            known = lines.get((name, cell.row, cell.column))
            if known and int(known["runs"]) > cell.runs:
                continue
            lines[name, cell.row, cell.column] = {
                **dict(zip(HEADER, map(str, line_of(name, what, cell)), strict=True)),
                "commit": " ".join(commit[:COMMIT_DIGITS] for commit in cell.commits),
            }
    order = {
        (name, *position): index
        for index, (name, position) in enumerate(
            (name, position) for name, what in all_reproductions().items() for position in what.setups
        )
    }
    files = []
    for work, lines in works.items():
        files.append(folder / f"{work}.csv")
        with files[-1].open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, HEADER, lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines[key] for key in sorted(lines, key=lambda key: order[key]))
    return files


def done_cells(what: Reproduction, done: Mapping[str, Result]) -> list[Cell]:
    """Return a table's cells that have a whole repeat, each of all its whole repeats."""
    cells = []
    for position, setups in what.setups.items():
        if count := _whole_repeats(setups, what.repeats, done):
            runs = what.runs_of(position, count)
            cells.append(what.measured(position, {run: done[json.dumps(run.key)] for run in runs}))
    return [cell for cell in cells if cell.ours is not None]


def _whole_repeats(setups: Sequence[Setup], most: int, done: Mapping[str, Result]) -> int:
    """Return the number of repeats, from the first on, that have all their runs."""
    for repeat in range(most):
        if any(json.dumps(setup.run(repeat).key) not in done for setup in setups):
            return repeat
    return most


if __name__ == "__main__":
    for written in record(
        {key: result for folder in sys.argv[1:] for key, result in read_runs(Path(folder)).items()}
    ):
        sys.stdout.write(f"{written}\n")
