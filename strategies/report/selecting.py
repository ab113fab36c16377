"""What a feature selection has found, for a person: accuracies, steps, votes and costs as text.

Everything is read from ``result.json``. There, a run without a selection has none of the keys used here.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from flower_pansvm.lists import first_of
from flower_pansvm.result_file import MODEL_FILE
from strategies.selection.outcome import ROUNDING

MOST_NAMES = 20
"""Chosen features that are named in a terminal."""

MOST_RANKED = 50
"""Lines of the ranking in the report."""


def named(names: Sequence[str]) -> str:
    """Return the names of the chosen features for a terminal, of very many the first."""
    return first_of(names, MOST_NAMES) + (", see result.json" if len(names) > MOST_NAMES else "")


def accuracy(point: Mapping[str, Any]) -> str:
    """Return mean and deviation over the folds of a point of ``accuracy_by_count`` as text."""
    return f"{point['accuracy']:.4f} ± {point['deviation']:.4f}"


def points_by_count(result: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """Return the points of ``accuracy_by_count`` by their number of features."""
    return {point["features"]: point for point in result["accuracy_by_count"]}


def chosen_subset(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the point of ``accuracy_by_count`` that was chosen."""
    return points_by_count(result)[len(result["selected"])]


def stages(result: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the points for all features, for those that the filters left if there were filters, and for the chosen.

    A point that is two of them comes once.
    """
    chosen = len(result["selected"])
    names = {len(result["ranking"]): f"all {len(result['ranking'])}"}
    if result["filters"]:
        left = len(result["filters"]["kept"])
        names.setdefault(left, f"the {left} that the filters left")
    names[chosen] = f"{names[chosen]}, chosen" if chosen in names else f"the {chosen} chosen"
    points = points_by_count(result)
    return {name: points[count] for count, name in names.items()}


def gain_table(result: Mapping[str, Any]) -> Table:
    """Return the accuracies with all features and with the chosen ones; on test rows too if there are any."""
    points = stages(result)
    tested = all(point["test_accuracy"] is not None for point in points.values())
    titles = ["features", f"over {result['config']['cv-folds']} folds", *(["test rows"] if tested else [])]
    table = Table(*titles, box=None, padding=(0, 2, 0, 0))
    for name, point in points.items():
        table.add_row(name, accuracy(point), *([f"{point['test_accuracy']:.4f}"] if tested else []))
    return table


def cost(result: Mapping[str, Any]) -> str:
    """Return the cost of the elimination as a whole and for each feature it removed."""
    steps = result["votes"]
    removed = sum(len(step["removed"]) for step in steps)
    trips, sent = (sum(step[name] for step in steps) for name in ("round_trips", "bytes_up"))
    if not removed:
        return "No feature was removed."
    text = (
        f"Removing {removed} features took {trips} round trips, in which all sites together sent {size(sent)}: "
        f"{trips / removed:.1f} round trips and {size(sent / removed)} per feature."
    )
    return text + (
        " What was sent before the run was resumed is not counted." if result["config"]["resume"] else ""
    )


def why_so_many(result: Mapping[str, Any]) -> str:
    """Return why this number of features was chosen, as the end of a sentence."""
    config = result["config"]
    if config["features"] != "auto":
        return f"as features={config['features']} asks"
    best = "the best number" + (" after the filters" if result["filters"] else "")
    return f"the fewest that are as accurate as {best}"


def beside_the_test(result: Mapping[str, Any]) -> str:
    """Return the accuracy of the test rows, beside that over the folds, as the end of a sentence.

    That it is no smaller shows nothing: it is of other rows, and at level perturbed of a simulation of true ones.
    """
    tested = result["accuracy"]
    if tested is None:
        return "; no test row tells by how much."
    return f"; of the test rows, which had no part in the selection, {tested:.1%} are right."


def advice(result: Mapping[str, Any]) -> str:
    """Return how to have fewer features if none was spared, or better ones if the filters took too many; or nothing."""
    if result["config"]["features"] != "auto":
        return ""
    if len(result["selected"]) == len(result["ranking"]):
        fewer = max(min(10, len(result["ranking"]) // 2), 1)
        return f"No smaller number is as accurate. --features {fewer} takes {fewer} all the same."
    every, *others = (point["accuracy"] for point in result["accuracy_by_count"])
    if result["filters"] and every > max(others) + ROUNDING:
        return (
            "With all features the models are more accurate: the filters removed some that help. Loosen them, for "
            "instance with --filters fisher=80%,scatter=80%."
        )
    return ""


def print_selection(result: Mapping[str, Any], folder: Path) -> None:
    """Print which features were chosen, how it came to that, and how to go on with them."""
    chosen = result["selected"]
    show = Console(highlight=False, markup=False).print
    show("\nAccuracy, mean ± deviation over folds of the training rows:\n")
    show(gain_table(result))
    show(
        "\nThe chosen features' accuracy over the folds can be too good, as these rows helped to choose.",
        soft_wrap=True,
    )
    show(f"\nThe {len(chosen)} chosen of {len(result['ranking'])} features, {why_so_many(result)}:")
    show(named(chosen), end="\n\n")
    for text in filter(None, (cost(result), advice(result))):
        show(f"{text}\n")
    show(
        "The model has been trained on the chosen features, and needs only these columns to predict:\n"
        f"pansvm predict {shlex.quote(str(folder / MODEL_FILE))} FILE.csv\n"
        "To train on them with other settings, keep only these columns and the label in the file of each site.\n",
        soft_wrap=True,
    )


def size(count: float) -> str:
    """Return a number of bytes as text, in kB or MB."""
    return f"{count / 1e6:.2f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


def ranking_lines(result: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any] | None]]:
    """Return the best features, and with each the point of the subset that ends with it, if it was tried."""
    points = points_by_count(result)
    best = result["ranking"][:MOST_RANKED]
    return [(name, points.get(size)) for size, name in enumerate(best, start=1)]
