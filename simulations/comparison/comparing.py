"""A comparison from beginning to end."""

from pathlib import Path

from rich.console import Console

from simulations.comparison.page import MARKDOWN_FILE, PAGE_FILE, SUMMARY_FILE, write_summary
from simulations.comparison.plan import Plan
from simulations.comparison.run import Finished
from simulations.comparison.table import PLAN_FILE, TABLE_FILE, ComparisonTable, opened
from simulations.comparison.workers import run_all


def compare(plan: Plan, folder: Path, jobs: int, console: Console) -> int:
    """Run what is missing of a comparison, and write what all of it says.

    Parameters
    ----------
    plan : Plan
        What is compared.
    folder : Path
        Where to; a folder of the same comparison is gone on with.
    jobs : int
        Runs at a time.
    console : Console
        Shows how far it is.

    Returns
    -------
    int
        Runs that have failed.

    Raises
    ------
    PanSVMError
        If something is wrong that can be known before the first run, or the folder holds something else.
    """
    notes = plan.check()
    for note in notes:
        console.print(f"Note: {note}", soft_wrap=True)
    cases = plan.cases()
    with opened(folder, plan):
        table = ComparisonTable(folder, cases)
        missing = table.missing()
        if len(missing) < len(cases):
            console.print(
                f"{len(cases) - len(missing)} of {len(cases)} runs are in {folder} already.", soft_wrap=True
            )
        for number, finished in enumerate(run_all(missing, jobs), start=len(cases) - len(missing) + 1):
            table.add(finished)
            console.print(f"[{number}/{len(cases)}] {_line(finished)}", markup=False, soft_wrap=True)
        table.sort()
        lines = table.lines()
        write_summary(folder, lines, len(cases), notes)
    files = ", ".join((TABLE_FILE, SUMMARY_FILE, MARKDOWN_FILE, PAGE_FILE, PLAN_FILE))
    console.print(f"The comparison is in {folder}: {files}", soft_wrap=True)
    failed = sum(bool(one.error) for one in lines)
    if failed:
        console.print(
            f"{failed} of {len(cases)} runs failed; the same command tries them again.", soft_wrap=True
        )
    return failed


def _line(one: Finished) -> str:
    """Return what has become of a run."""
    name = f"{one.strategy}, {one.place}, repeat {one.repeat}"
    if one.error:
        return f"{name}: failed: {one.error}"
    accuracy = "not measured" if one.accuracy is None else f"{one.accuracy:.4f}"
    trips = f", {one.round_trips} round trips" if one.round_trips else ""
    return f"{name}: accuracy {accuracy}{trips}, {one.seconds or 0:.1f} s"
