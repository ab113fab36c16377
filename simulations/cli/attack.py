"""``pansvm attack``: a coordinator that chooses everything, against hospitals in this process."""

from typing import Annotated

import typer

from simulations.cli.app import cli


@cli.command()
def attack(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[ATTACK]...", help="Attacks to play; all if none is named.")
    ] = None,
) -> None:
    """Attack hospitals that have all recommended pins; exit code 1 if a promise to them is broken."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from simulations.attack.active.registry import NOT_PLAYED, chosen_attacks, play  # noqa: PLC0415

    table = Table("attack", "promise", "got", "allowed", "outcome", show_lines=True)
    broken = 0
    for chosen in chosen_attacks(names or []):
        typer.echo(f"{chosen.name}: {chosen.tries}", err=True)
        ended = play(chosen)
        broken += not ended.held
        outcome = "held" if ended.held else "BROKEN"
        table.add_row(chosen.name, chosen.promise, ended.got, ended.allowed, outcome)
    Console(markup=False, highlight=False).print(table)
    typer.echo(NOT_PLAYED)
    if broken:
        raise typer.Exit(1)
