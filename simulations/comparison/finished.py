"""The finished runs of a folder, a line each in ``runs.jsonl``, from which `pansvm compare` and `reproduce` resume."""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from flower_pansvm.errors import SettingError
from flower_pansvm.locking import COMMAND
from flower_pansvm.terms import Scalar
from simulations.comparison.cluster import run_all
from simulations.comparison.workers import Result

RUNS_FILE = "runs.jsonl"
"""A line per run: its key and its result."""


class Work(Hashable, Protocol):
    """A pending run."""

    @property
    def key(self) -> Mapping[str, Scalar]:
        """The identity of the run."""


Kept = TypeVar("Kept", bound=Work)

PLAN_FILE = "comparison.json"
"""What a comparison is of; a reproduction has none."""


def check_folder(folder: Path, file: str, kind: str) -> None:
    """Raise a SettingError unless a folder is new, empty, or holds the file of an earlier command of the kind."""
    mine = not folder.is_dir() or (
        (folder / file).exists() and (file == PLAN_FILE or not (folder / PLAN_FILE).exists())
    )
    if not mine and any(path.name != COMMAND for path in folder.iterdir()):
        raise SettingError(
            f"'{folder}' is not empty and holds no {kind}. Name another folder with --out: a new one, or that "
            f"of an earlier {kind}, whose runs are then not repeated."
        )


def read_runs(folder: Path) -> dict[str, Result]:
    """Return the stored results by their keys as JSON; the last of a repeated run, and none of a damaged line."""
    results: dict[str, Result] = {}
    file = folder / RUNS_FILE
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else ():
        try:
            key, result = json.loads(line)
        except (ValueError, TypeError):
            continue
        if isinstance(result, dict) and result:
            results[json.dumps(key)] = result
    return results


def finish(
    works: Sequence[Kept],
    folder: Path,
    jobs: int,
    run: Callable[[Kept], Result],
    show: Callable[[Kept, Result, int], None],
    cluster: str = "",
) -> dict[Kept, Result]:
    """Do the runs that are missing or have failed, store each at once, and return the results of all.

    No other process works in the folder. ``show`` receives each finished run, its result, and the number of remaining
    runs; the other parameters are those of `run_each`. ``cluster`` is the address of a Ray cluster to run on.
    """
    done = succeeded(works, folder)
    missing = [work for work in works if work not in done]
    with (folder / RUNS_FILE).open("a+", encoding="utf-8", errors="replace") as file:
        file.seek(0)
        if file.read()[-1:] not in ("", "\n"):
            file.write("\n")  # Ends a truncated line.
        results = run_all(missing, jobs, run, cluster)
        for remaining, (work, result) in zip(range(len(missing) - 1, -1, -1), results, strict=True):
            done[work] = result
            file.write(json.dumps([work.key, result]) + "\n")
            file.flush()
            show(work, result, remaining)
    return {work: done[work] for work in works}


def succeeded(works: Sequence[Kept], folder: Path) -> dict[Kept, Result]:
    """Return the stored results of the runs that have not failed."""
    stored = read_runs(folder)
    results = {work: stored.get(json.dumps(work.key)) for work in works}
    return {work: result for work, result in results.items() if result is not None and "error" not in result}
