"""``pansvm reproduce``, ``attack`` and ``demo``: papers reproduced, a malicious coordinator, a study on one machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from flower_pansvm.command_line import assignments, check_can_be_folder
from flower_pansvm.constraints import check_choice
from flower_pansvm.errors import SettingError
from simulations.cli.options import Cluster, remote
from strategies.run_display import RunDisplay

if TYPE_CHECKING:
    from simulations.comparison.workers import Result
    from simulations.papers.reproduction import Run

SHOWN = ("strategy", "data", "seed")
"""Settings of a finished run in its line of progress."""


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Tables or figures; --list names them.")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of data sets.", show_default="$PANSVM_DATA")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; finished runs there are not repeated.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Number of repeats.", show_default="the table's")
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option("--row", metavar="ROW", help="Only this row of the table; may be given several times."),
    ] = None,
    cluster: Cluster = "",
    list_: Annotated[
        bool, typer.Option("--list", help="List the tables and figures with their durations.")
    ] = False,
) -> None:
    """Reproduce tables and figures of a paper, and compare them with the paper's.

    Runs that are missing in --out are done; then the table is written, with --row of these rows alone.
    """
    from simulations.comparison.workers import failure  # noqa: PLC0415
    from simulations.papers import writing  # noqa: PLC0415
    from simulations.papers.declared import all_reproductions  # noqa: PLC0415
    from simulations.papers.table_runs import do_runs  # noqa: PLC0415

    console = Console(highlight=False, markup=False)
    if list_:
        table = Table("name", "what", "minutes", "repeats", box=None, padding=(0, 2, 0, 0))
        for name, reproduction in all_reproductions().items():
            table.add_row(name, reproduction.title, f"{reproduction.minutes:g}", f"{reproduction.repeats}")
        console.print(table)
        return
    if not names or out is None:
        raise SettingError(
            "Name a table or figure and a folder for the results: pansvm reproduce lu-table-3.2 --data-dir DIR --out "
            "DIR. 'pansvm reproduce --list' lists the tables and figures."
        )
    check_can_be_folder(out)
    if data_dir is not None and not data_dir.is_dir():
        raise SettingError(f"There is no folder {data_dir}. Correct --data-dir.")
    chosen = {name: all_reproductions()[name] for name in names}
    if rows:
        chosen = {name: reproduction.of_rows(rows) for name, reproduction in chosen.items()}
    failures = 0
    for name, reproduction in chosen.items():
        count = repeats or reproduction.repeats
        runs = list(dict.fromkeys(run for cell in reproduction.plan(count).values() for run in cell))
        minutes = f"{reproduction.minutes * count / reproduction.repeats:.2g} minutes"
        console.print(f"{name}, {reproduction.title}: {len(runs)} runs, about {minutes} on two cores")

        def show(run: "Run", result: "Result", remaining: int) -> None:
            outcome = failure(result) if "error" in result else f"{result['wall']:.1f} s"
            title = " ".join(str(value) for key, value in run.items if key in SHOWN)
            console.print(f"{title}: {outcome}; {remaining} left")

        # Times are measured on one machine.
        nodes = "" if reproduction.timed else remote(cluster)
        results = do_runs(runs, data_dir, out, 1 if reproduction.timed else 2, show, nodes)
        cells = reproduction.cells(count, results)
        seconds = sum(result.get("wall", 0.0) for result in results.values())
        failed = sum("error" in result for result in results.values())
        took = [
            f"{len(results)} runs, {count} repeat{'s' * (count > 1)}, {failed} failed; {seconds / 60:.1f} minutes of "
            "computing one after the other."
        ]
        reasons = dict.fromkeys(str(result["error"]) for result in results.values() if "error" in result)
        took += [f"Failed: {reason}" for reason in reasons]
        failures += failed
        took += [f"One of them: {command}" for command in filter(None, (run.command for run in runs[-1:]))]
        files = writing.write(name, reproduction, cells, took, out)
        console.print(files[1].read_text(encoding="utf-8"), soft_wrap=True)
        console.print(f"Written: {', '.join(str(file) for file in files)}", soft_wrap=True)
    if failures:
        raise typer.Exit(1)


def attack(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[ATTACK]...", help="Attacks to run; all by default.")
    ] = None,
) -> None:
    """Attack simulated hospitals as a malicious coordinator; exit code 1 if a privacy promise is broken."""
    from simulations.attack.active.registry import ATTACKS, NOT_PLAYED, play  # noqa: PLC0415

    table = Table("attack", "promise", "got", "allowed", "outcome", show_lines=True)
    broken = 0
    for name in names or ():
        check_choice("attack", name, ATTACKS)
    for name in names or ATTACKS:
        chosen = ATTACKS[name]
        typer.echo(f"{name}: {chosen.tries}", err=True)
        ended = play(chosen)
        broken += not ended.held
        outcome = "held" if ended.held else "BROKEN"
        table.add_row(name, chosen.promise, ended.got, ended.allowed, outcome)
    Console(markup=False, highlight=False).print(table)
    typer.echo(NOT_PLAYED)
    if broken:
        raise typer.Exit(1)


def demo(
    out: Annotated[Path, typer.Option(help="New folder for everything.")] = Path("pansvm-demo"),
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the run, for instance --set steps=0."),
    ] = None,
) -> None:
    """Try a study on this machine: hospitals with synthetic tables, a coordinator, one training."""
    from simulations.trial import run_trial  # noqa: PLC0415

    with RunDisplay() as display:
        run_trial(out, dict(assignments(set_ or [])), display.show)
