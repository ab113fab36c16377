"""What ``pansvm select`` prints besides the figures of the run."""

import shlex
from pathlib import Path

from rich.console import Console

from simulations import selecting


def print_selection(folder: Path) -> None:
    """Print which features were chosen, how it came to that, and how to go on with them."""
    from strategies.results import MODEL_FILE, read_result  # noqa: PLC0415

    result = read_result(folder)
    chosen = result["selected"]
    show = Console(highlight=False, markup=False).print
    show("\nAccuracy, mean ± deviation over folds of the training rows:\n")
    show(selecting.gain_table(result))
    show(f"\nThe {len(chosen)} chosen of {len(result['ranking'])} features, the most important first:")
    show(selecting.named(chosen), end="\n\n")
    show(selecting.steps_table(result))
    show(f"* chosen, {selecting.why_so_many(result)}\n")
    for text in filter(None, (selecting.ties(result), selecting.cost(result), selecting.advice(result))):
        show(f"{text}\n")
    show(
        "The model has been trained on the chosen features, and needs only these columns to predict:\n"
        f"pansvm predict {shlex.quote(str(folder / MODEL_FILE))} FILE.csv\n"
        "To train on them with other settings, keep only these columns and the label in the file of each site.\n",
        soft_wrap=True,
    )
