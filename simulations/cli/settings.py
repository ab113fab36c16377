"""``pansvm settings``: what can be set, generated from the settings themselves."""

from typing import Annotated

import typer
from rich.console import Console

from simulations.cli.app import cli


@cli.command("settings")
def print_settings(
    strategy: Annotated[
        str | None, typer.Argument(help="A strategy, whose settings alone are printed.", show_default="all")
    ] = None,
) -> None:
    """Print the settings for --set and for Flower's run config: name, default, what it may be, and meaning."""
    from simulations import settings_table  # noqa: PLC0415

    show = Console(highlight=False, markup=False).print
    for title, settings in settings_table.groups(strategy).items():
        show(settings_table.table(title, settings))
        show()
