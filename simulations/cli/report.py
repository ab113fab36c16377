"""``pansvm report``: the page of a run, made again."""

from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import cli


@cli.command()
def report(folder: Annotated[Path, typer.Argument(help="Folder of a run, with its result.json.")]) -> None:
    """Write report.html again from a run's result.json."""
    from simulations.report.page import write_report  # noqa: PLC0415

    typer.echo(f"The report is in {write_report(folder)}")
