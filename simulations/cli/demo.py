"""``pansvm demo``: a whole study on one machine, with real SuperNodes."""

from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import DataDir, cli
from simulations.cli.assignments import assignments


@cli.command()
def demo(
    out: Annotated[Path, typer.Option(help="New folder for everything.")] = Path("pansvm-demo"),
    data_dir: DataDir = "",
    generated: Annotated[
        bool,
        typer.Option(
            "--generated", help="Draw the tables, in place of the four hospitals of the heart data."
        ),
    ] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the run, for instance --set steps=0."),
    ] = None,
) -> None:
    """Set up hospitals and a coordinator on this machine as in reality, train, and end all that was started."""
    from simulations.deployment.trial import generated_tables, heart_tables, run_trial  # noqa: PLC0415

    heart = heart_tables(Path(data_dir) if data_dir else None) if not generated else None
    run_trial(
        out, lambda folder: heart or generated_tables(folder), dict(assignments(set_ or [])), typer.echo
    )
