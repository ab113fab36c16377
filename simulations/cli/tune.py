"""What ``pansvm tune`` prints besides the figures of the run."""

from pathlib import Path

import typer
from rich.console import Console


def print_choice(folder: Path, context: typer.Context, engine_option: str) -> None:
    """Print the grid that model choice has tried and how to train with the best point again."""
    from simulations import tuning  # noqa: PLC0415
    from strategies.results import read_result  # noqa: PLC0415

    result = read_result(folder)
    chosen = result["chosen"]
    options = {name.removeprefix("--") for option in context.command.params for name in option.opts}
    again = tuning.command(result, options) + engine_option
    console = Console(highlight=False, markup=False)
    console.print(
        f"\nAccuracy over {result['config']['cv-folds']} folds of the training rows, mean ± deviation:\n"
    )
    console.print(tuning.grid_table(chosen))
    for name in tuning.edges(chosen):
        console.print(f"\nThe best {name} is at the edge of what was tried. Try more: --set {name}-grid=...")
    console.print(f"\nBest setting: {again}", soft_wrap=True)
    console.print("The model of the best setting has been trained as well, on all training rows:\n")
