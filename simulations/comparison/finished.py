"""The finished runs of a folder, a line each in ``runs.jsonl``: what was stopped goes on where it was.

`pansvm compare` and `pansvm reproduce` keep their runs so.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from flower_pansvm.errors import SettingError
from flower_pansvm.locking import COMMAND
from simulations.comparison.cluster import run_on_cluster
from simulations.comparison.workers import Result, W, run_each

RUNS_FILE = "runs.jsonl"
"""A line a run: what says which run it is, and what it has found."""


def check_folder(folder: Path, file: str, what: str) -> None:
    """Check that a folder is empty or new, or has a file that says that it is of an earlier command of the kind.

    SettingError if it holds something else.
    """
    if (
        folder.is_dir()
        and not (folder / file).exists()
        and any(one.name != COMMAND for one in folder.iterdir())
    ):
        raise SettingError(
            f"'{folder}' is not empty and holds no {what} ({file}). Name another folder by --out: a new one, or one of "
            f"an earlier {what}, whose runs are then not done again."
        )


def read_runs(folder: Path) -> dict[str, Result]:
    """Return what the runs on file have found, by their keys as JSON; of a run that was done twice, the last.

    A line that was cut off is not there.
    """
    found: dict[str, Result] = {}
    file = folder / RUNS_FILE
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            key, result = json.loads(line)
        except ValueError:
            continue
        found[json.dumps(key)] = result
    return found


def finish(
    works: Sequence[W],
    folder: Path,
    jobs: int,
    run: Callable[[W], Result],
    show: Callable[[W, Result, int], None],
    cluster: str = "",
) -> dict[W, Result]:
    """Do the runs that are not on file or have failed, keep each at once, and return what all of them have found.

    No other process works in the folder. ``show`` receives each run that has ended, what it has found, and how many
    are left; the other parameters are those of `run_each`. With the address of a Ray cluster they are done there.
    """
    done = succeeded(works, folder)
    missing = [work for work in works if work not in done]
    with (folder / RUNS_FILE).open("a+", encoding="utf-8") as file:
        file.seek(0)
        if file.read()[-1:] not in ("", "\n"):
            file.write("\n")  # Ends a line that was cut off.
        results = run_on_cluster(missing, cluster, run) if cluster else run_each(missing, jobs, run)
        for left, (work, result) in zip(range(len(missing) - 1, -1, -1), results, strict=True):
            done[work] = result
            file.write(json.dumps([work.key, result]) + "\n")
            file.flush()
            show(work, result, left)
    return {work: done[work] for work in works}


def succeeded(works: Sequence[W], folder: Path) -> dict[W, Result]:
    """Return which of the runs are on file and have not failed, with what they have found."""
    kept = read_runs(folder)
    results = {work: kept.get(json.dumps(work.key)) for work in works}
    return {work: result for work, result in results.items() if result is not None and "error" not in result}
