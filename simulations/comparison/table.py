"""The folder of a comparison: what is compared (``comparison.json``) and every finished run (``comparison.csv``).

A line is written as soon as its run is over, so that a comparison that was stopped goes on after its last line.
"""

import csv
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from flower_pansvm.errors import SettingError
from simulations.comparison.plan import Plan
from simulations.comparison.run import Case, Finished
from simulations.data.datasets import locate
from simulations.data.sites import SEPARATOR
from strategies.locking import COMMAND, locked
from strategies.results import versions

PLAN_FILE = "comparison.json"
TABLE_FILE = "comparison.csv"

COLUMNS = {one.name: one.type for one in fields(Finished)}
"""The columns and what is in them."""


class ComparisonTable:
    """The finished runs of a comparison, in memory and in its folder.

    Parameters
    ----------
    folder : Path
        Where the comparison is, as `opened` has left it.
    cases : sequence of Case
        All runs.

    Raises
    ------
    SettingError
        If the table is damaged.
    """

    def __init__(self, folder: Path, cases: Sequence[Case]) -> None:
        self.file, self.cases = folder / TABLE_FILE, cases
        self._finished = {one.key: one for one in _read(self.file)} if self.file.exists() else {}
        self._write()

    def missing(self) -> list[Case]:
        """Return the runs that are not there, or have failed: these are tried again."""
        there = {key for key, one in self._finished.items() if not one.error}
        return [case for case in self.cases if case.key not in there]

    def lines(self) -> list[Finished]:
        """Return the runs that are there, in the order of the cases."""
        return [self._finished[case.key] for case in self.cases if case.key in self._finished]

    def add(self, finished: Finished) -> None:
        """Write a run to the end of the file."""
        self._finished[finished.key] = finished
        with self.file.open("a", encoding="utf-8", newline="") as stream:
            csv.DictWriter(stream, COLUMNS).writerow(asdict(finished))

    def sort(self) -> None:
        """Bring the lines of the file into the order of the cases."""
        self._write()

    def _write(self) -> None:
        unfinished = self.file.with_name(f"{self.file.name}.new")
        with unfinished.open("w", encoding="utf-8", newline="") as stream:
            lines = csv.DictWriter(stream, COLUMNS)
            lines.writeheader()
            lines.writerows(asdict(one) for one in self.lines())
        os.replace(unfinished, self.file)


@contextmanager
def opened(folder: Path, plan: Plan) -> Iterator[None]:
    """Make the folder of a comparison, or open it to go on; no other process can have it open as well.

    Raises
    ------
    SettingError
        If the folder holds something else, such as another comparison.
    """
    here = description(plan)
    file = folder / PLAN_FILE
    with locked(folder):
        if not file.exists():
            if any(path.name != COMMAND for path in folder.iterdir()):
                raise SettingError(
                    f"'{folder}' is not empty and holds no comparison ({PLAN_FILE}). Name another folder by --out."
                )
            file.write_text(json.dumps(here, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        try:
            there = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            raise SettingError(
                f"'{file}' is damaged. Name another folder by --out, or remove this one."
            ) from None
        other = [key for key in here if there.get(key) != here[key]]
        if other:
            raise SettingError(
                f"'{folder}' holds another comparison. There {other[0]} is {_short(there.get(other[0]))}, here "
                f"{_short(here[other[0]])}. Give the options that it was begun with, to go on with it, or name "
                "another folder by --out."
            )
        yield


def description(plan: Plan) -> dict[str, Any]:
    """Return what a comparison is, ready for JSON: two that agree in it give the same table."""
    found = asdict(plan)
    data_dir = found["common"].pop("data-dir")
    folder = Path(str(data_dir)) if data_dir else None
    files = {part: locate(part, folder) for name in plan.data for part in name.split(SEPARATOR)}
    digests = {
        part: hashlib.sha256(path.read_bytes()).hexdigest()
        for part, path in files.items()
        if path is not None
    }
    known: dict[str, Any] = json.loads(json.dumps({**found, "sha256": digests, "versions": versions()}))
    return known


def _read(file: Path) -> Iterator[Finished]:
    text = file.read_text(encoding="utf-8")
    # The last line of a process that was killed may be half a line.
    whole = text[: text.rfind("\n") + 1]
    try:
        for line in csv.DictReader(whole.splitlines(keepends=True)):
            yield Finished(**{name: _value(kind, line[name]) for name, kind in COLUMNS.items()})
    except (KeyError, TypeError, ValueError):
        raise SettingError(
            f"'{file}' is damaged: it does not have the columns and numbers of a comparison. Remove it to run "
            "everything again, or name another folder by --out."
        ) from None


def _value(kind: Any, text: str) -> Any:
    if kind is str:
        return text
    if text == "" and kind is not int:
        return None
    if kind == bool | None:
        return {"True": True, "False": False}[text]
    return int(text) if kind in (int, int | None) else float(text)


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"
