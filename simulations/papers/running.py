"""Does the runs of a table on all cores, and keeps each at once, so that a stopped reproduction goes on."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flower_pansvm.errors import PanSVMError, SettingError
from simulations.comparison.workers import DIED, run_each
from simulations.papers.data import check
from simulations.papers.reproduction import all_reproductions
from simulations.papers.run import Result, Run, execute
from strategies.locking import COMMAND, locked

RUNS_FILE = "runs.jsonl"
"""A line a run: its settings and what it has found."""

Show = Callable[[Run, Result, int], None]
"""Receives each run that has ended, what it has found, and how many are left."""


def read_runs(folder: Path) -> dict[Run, Result]:
    """Return the runs on file; of a run that was done twice, the last. A line that was cut off is not there.

    Raises
    ------
    SettingError
        If the folder holds something else.
    """
    file = folder / RUNS_FILE
    if not file.exists():
        if folder.is_dir() and any(path.name != COMMAND for path in folder.iterdir()):
            raise SettingError(
                f"'{folder}' holds something else than reproductions: it has no {RUNS_FILE}. Name a new folder, or one "
                "of an earlier 'pansvm reproduce', whose runs are then not done again."
            )
        return {}
    found: dict[Run, Result] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            items, result = json.loads(line)
        except ValueError:
            continue
        found[Run(tuple((key, value) for key, value in items))] = result
    return found


def do_runs(
    runs: Iterable[Run], data_dir: Path, folder: Path, processes: int, show: Show
) -> Mapping[Run, Result]:
    """Return what the runs have found; those on file are not done again, but for those that failed.

    Parameters
    ----------
    runs : iterable of Run
        The runs.
    data_dir, folder : Path
        Folder of data sets, and of the reproductions.
    processes : int
        How many runs at a time; a single one is done in this process.
    show : callable
        See `Show`.

    Raises
    ------
    SettingError
        If a data set is missing, before anything is run, or the folder holds something else.
    """
    wanted = list(dict.fromkeys(runs))
    for data in sorted({str(run.config["data"]) for run in wanted}):
        check(data, data_dir)
    with locked(folder):
        return _do_missing(wanted, data_dir, folder, processes, show)


def _do_missing(
    wanted: list[Run], data_dir: Path, folder: Path, processes: int, show: Show
) -> Mapping[Run, Result]:
    done = {run: result for run, result in read_runs(folder).items() if "error" not in result}
    missing = [run for run in wanted if run not in done]
    do = Execute(data_dir, folder)
    each = map(do, missing) if processes == 1 else run_each(missing, processes, do, _died)
    with (folder / RUNS_FILE).open("a", encoding="utf-8") as file:
        for left, (run, result) in zip(range(len(missing) - 1, -1, -1), each, strict=True):
            done[run] = result
            file.write(json.dumps([run.items, result]) + "\n")
            file.flush()
            show(run, result, left)
    return {run: done[run] for run in wanted}


@dataclass(frozen=True)
class Execute:
    """Does a run; what it may fail for, as a class without a row to train on, is its result.

    Parameters
    ----------
    data_dir, folder : Path
        As of `do_runs`.
    """

    data_dir: Path
    folder: Path

    def __call__(self, run: Run) -> tuple[Run, Result]:
        """Return the run and what it has found."""
        # Data sets that have to be made enter themselves beside the tables.
        all_reproductions()
        try:
            return run, execute(run, self.data_dir, self.folder)
        except (PanSVMError, ValueError) as error:
            return run, {"error": str(error)}


def _died(run: Run) -> tuple[Run, Result]:
    return run, {"error": DIED}
