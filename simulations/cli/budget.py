"""``pansvm budget``: what a hospital has spent of its budget for differential privacy."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from simulations.cli.app import cli


@cli.command()
def budget(
    folder: Annotated[
        Path, typer.Argument(help="The state folder of the hospital's SuperNode: 'state' in its node config.")
    ],
    new: Annotated[
        bool, typer.Option("--new", help="Begin the budget of a table. Once: what is spent never comes back.")
    ] = False,
    test_fraction: Annotated[
        float,
        typer.Option(min=0.0, max=0.9, help="With --new: share of the rows kept for evaluation, for good."),
    ] = 0.2,
    epsilon: Annotated[float, typer.Option(min=1e-3, help="The hospital's, as in its node config.")] = 1.0,
    delta: Annotated[float, typer.Option(min=1e-15, max=1e-3, help="The hospital's.")] = 1e-5,
) -> None:
    """Show what was spent by which run, and what is left; or begin a table's budget."""
    from clients.gate.budget import new_ledger, read_ledger  # noqa: PLC0415
    from flower_pansvm.privacy.accountant import epsilon_of, rho_of  # noqa: PLC0415

    if new:
        new_ledger(folder, test_fraction)
        typer.echo(
            f"The budget of this table begins in {folder}. Keep that folder as long as the table: if it is lost, all "
            f"of the budget is. {test_fraction:.0%} of the rows are kept for evaluation in all runs. Start the "
            "SuperNode with epsilon, delta, classes and this folder as state in its node config."
        )
        return
    ledger, whole = read_ledger(folder), rho_of(epsilon, delta)
    table = Table("run", "first answer", "answers", "training rows: epsilon", "test rows: epsilon", box=None)
    for run in dict.fromkeys(one.run for one in ledger.charges):
        own = [one for one in ledger.charges if one.run == run]
        costs = [f"{epsilon_of(ledger.spent(rows, run), delta):.4f}" for rows in ("train", "test")]
        table.add_row(run, own[0].time, str(len(own)), *costs)
    spent = ledger.spent("train"), ledger.spent("test")
    for title, both in (("spent", spent), ("left", [max(whole - rho, 0.0) for rho in spent])):
        table.add_row(title, "", "", *(f"{epsilon_of(rho, delta):.4f}" for rho in both))
    Console(highlight=False, soft_wrap=True, markup=False).print(table)
    typer.echo(
        f"of epsilon {epsilon:g} with delta {delta:g}; what is spent and what is left do not add up to it, costs do"
    )
