"""A whole comparison, and its folder, which holds one comparison only."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from flower_pansvm.errors import SettingError
from flower_pansvm.files import write
from flower_pansvm.locking import locked
from simulations.comparison.finished import PLAN_FILE, RUNS_FILE, check_folder, finish, succeeded
from simulations.comparison.page import ENDINGS, PAGE_FILE, SUMMARY_FILE, write_summary
from simulations.comparison.plan import Plan
from simulations.comparison.run import COLUMNS, Case, line_of, run_case, settings_of
from simulations.comparison.summary import frame, named
from simulations.comparison.workers import Result, failure
from simulations.origin import origin
from simulations.running import doubts_of
from strategies.results import versions

TABLE_FILE = "comparison.csv"


def compare(
    plan: Plan, folder: Path, jobs: int, console: Console, form: str = "md", cluster: str = ""
) -> int:
    """Do the missing runs of a comparison, write tables and page, and return the number of failed runs.

    A folder of the same comparison is continued. PanSVMError, before the first run, if a run is impossible, or the
    folder holds anything else.
    """
    notes = plan.check()
    for note in notes:
        console.print(f"Note: {note}", soft_wrap=True)
    cases = plan.cases()
    for settings in {case.data: settings_of(case) for case in reversed(cases)}.values():
        for text in doubts_of(settings):
            console.print(f"Warning: {text}", markup=False, soft_wrap=True)

    def show(case: Case, result: Result, remaining: int) -> None:
        count = f"[{len(cases) - remaining}/{len(cases)}]"
        text = f"{count} {case.title}, repeat {case.repeat}: {_outcome(result)}"
        console.print(text, markup=False, soft_wrap=True)

    with opened(folder, plan):
        if finished := len(succeeded(cases, folder)):
            console.print(f"{finished} of {len(cases)} runs are in {folder} already.", soft_wrap=True)
        results = finish(cases, folder, jobs, run_case, show, cluster)
        lines = [line_of(case, result) for case, result in results.items()]
        pd.DataFrame(lines, columns=COLUMNS, dtype=object).to_csv(folder / TABLE_FILE, index=False)
        runs = named(frame(lines))
        table = write_summary(folder, runs, notes, origin(), form)
    console.print(table, markup=False, soft_wrap=True)
    for (data, error), group in runs[runs["error"] != ""].groupby(["data", "error"], sort=False):
        where = ", ".join([str(data), *dict.fromkeys(group["split"])])
        who = ", ".join(dict.fromkeys(group["strategy"]))
        console.print(f"{len(group)} failed on {where} ({who}): {error}", markup=False, soft_wrap=True)
    files = ", ".join((f"table.{ENDINGS[form]}", TABLE_FILE, SUMMARY_FILE, PAGE_FILE, PLAN_FILE, RUNS_FILE))
    console.print(f"The comparison is in {folder}: {files}", soft_wrap=True)
    failed = sum("error" in result for result in results.values())
    if failed:
        console.print(f"{failed} of {len(cases)} runs failed; the same command repeats them.", soft_wrap=True)
    return failed


def _outcome(result: Result) -> str:
    """Return the outcome of a run in a few words."""
    if "error" in result:
        return f"failed: {failure(result)}"
    accuracy = "not measured" if result["accuracy"] is None else f"{result['accuracy']:.4f}"
    trips = f", {result['round_trips']} round trips" if result["round_trips"] else ""
    return f"accuracy {accuracy}{trips}, {result['seconds']:.1f} s"


AGAIN = {"versions": "Install its versions", "sha256": "Restore its files"}
"""What continues a comparison that differs otherwise than in an option."""


@contextmanager
def opened(folder: Path, plan: Plan) -> Iterator[None]:
    """Make the folder of a comparison, or open it to continue, with a lock against other processes.

    SettingError if the folder holds anything else, such as another comparison.
    """
    wanted = description(plan)
    file = folder / PLAN_FILE
    with locked(folder):
        check_folder(folder, PLAN_FILE, "comparison")
        if not file.exists():
            write(file, json.dumps(wanted, indent=2, ensure_ascii=False) + "\n")
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            raise SettingError(
                f"'{file}' is damaged. Name another folder with --out, or remove this one."
            ) from None
        differing = [key for key in wanted if stored.get(key) != wanted[key]]
        if differing:
            key = differing[0]
            before, now = stored.get(key), wanted[key]
            if isinstance(before, dict):
                parts = [part for part in {**before, **now} if before.get(part) != now.get(part)]
                before, now = ({part: whole.get(part) for part in parts} for whole in (before, now))
            raise SettingError(
                f"'{folder}' holds another comparison: its {key} is {_short(before)}, not {_short(now)}. "
                f"{AGAIN.get(key, 'Repeat its options')} to continue it, or name another folder with --out."
            )
        yield


def description(plan: Plan) -> dict[str, Any]:
    """Return the identity of a comparison, ready for JSON: equal ones have the same table."""
    content = asdict(plan)
    del content["common"]["data-dir"]
    digests = dict(plan.digests)
    if schema := str(plan.common.get("schema") or ""):
        digests[schema] = hashlib.sha256(Path(schema).read_bytes()).hexdigest()
    result: dict[str, Any] = json.loads(json.dumps({**content, "sha256": digests, "versions": versions()}))
    return result


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"
