"""``pansvm budget``: what a hospital has spent of its budget for differential privacy."""

import typer

from simulations.cli.app import cli


@cli.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
)
def budget(context: typer.Context) -> None:
    """Show what was spent by which run, and what is left; or begin a table's budget (--help has the options)."""
    # Of the hospital's own part, which it audits; there it is started with: python -m clients.budget
    from clients.budget import main  # noqa: PLC0415

    main(context.args)
