"""``pansvm demo``: a whole study on one machine, with real SuperNodes."""

import os
from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import cli
from simulations.cli.assignments import assignments
from simulations.cli.display import RunDisplay


@cli.command()
def demo(
    out: Annotated[Path, typer.Option(help="New folder for everything.")] = Path("pansvm-demo"),
    data_dir: Annotated[
        str,
        typer.Option(help="Folder with the four hospitals of UCI's heart data.", show_default="$PANSVM_DATA"),
    ] = "",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the run, for instance --set steps=0."),
    ] = None,
) -> None:
    """Set up hospitals and a coordinator on this machine as in reality, train, and end all that was started.

    Without a folder of data the hospitals' tables are drawn.
    """
    from simulations.data.datasets import FOLDER_VARIABLE  # noqa: PLC0415
    from simulations.deployment.coordinator import RECOMMENDED  # noqa: PLC0415
    from simulations.deployment.trial import generated_tables, heart_tables, run_trial  # noqa: PLC0415
    from strategies.settings import settings_from  # noqa: PLC0415

    found = data_dir or os.environ.get(FOLDER_VARIABLE)
    heart = heart_tables(Path(found)) if found else None
    typer.echo("Four hospitals, " + ("UCI's heart data" if heart else "with tables that are drawn"))
    settings = dict(assignments(set_ or []))
    chosen = settings_from({"strategy": RECOMMENDED["strategy"], **settings})
    with RunDisplay.of(chosen) as display:
        run_trial(out, lambda folder: heart or generated_tables(folder), settings, display.show)
