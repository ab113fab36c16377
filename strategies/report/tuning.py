"""What model choice has found, for a person: the grid, and the command that trains with its best point."""

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from flower_pansvm.command_line import OF_COMMANDS
from strategies.constraints import number_text
from strategies.settings import SEPARATOR, default_config


def accuracy(point: Mapping[str, Any]) -> str:
    """Return mean and deviation over the folds of a point of ``result.json``'s grid as text."""
    return "failed" if point["failure"] else f"{point['accuracy']:.4f} ± {point['deviation']:.4f}"


def gap(point: Mapping[str, Any]) -> str:
    """Return the gap at which training of a point's worst fold ended as text."""
    return "" if point["failure"] else f"{point['gap']:.0e}"


def point_name(point: Mapping[str, Any]) -> str:
    """Return the setting of a point as text; a linear kernel has no gamma."""
    gamma = "" if point["gamma"] is None else f", gamma={number_text(point['gamma'])}"
    return f"C={number_text(point['C'])}{gamma}"


def grid_table(chosen: Mapping[str, Any]) -> Table:
    """Return the grid of ``result.json``'s entry ``chosen``, best first; points that failed with the reason.

    The gap is the relative gap between the bounds at which training of the worst fold ended.
    """
    grid = chosen["grid"]
    table = Table(box=None, padding=(0, 2, 0, 0))
    names = ["C"] if chosen["gamma"] is None else ["C", "gamma"]
    for name in names:
        table.add_column(name, justify="right")
    for name in ("accuracy", "gap"):
        table.add_column(name)
    if any(point["failure"] for point in grid):
        table.add_column("why it failed")
    for point in grid:
        numbers = [number_text(point[name]) for name in names]
        table.add_row(*numbers, accuracy(point), gap(point), point["failure"] or None)
    return table


def edges(chosen: Mapping[str, Any]) -> list[str]:
    """Return ``C`` and ``gamma`` where the best value is the smallest or largest of several that were tried.

    Not where another value is as accurate: beyond an edge that only its order made the best, nothing is to be found.
    """
    at_edge, grid = [], chosen["grid"]
    for name in ("C", "gamma"):
        tried = sorted({point[name] for point in grid})
        as_good = {point[name] for point in grid if point["accuracy"] == grid[0]["accuracy"]}
        if len(tried) > 1 and as_good == {chosen[name]} <= {tried[0], tried[-1]}:
            at_edge.append(name)
    return at_edge


def measure(result: Mapping[str, Any]) -> str:
    """Return by what the best setting was chosen: by accuracy, with class weights by that in which they count."""
    weight = str(result["config"].get("class-weight", "none"))
    return {"none": "accuracy", "balanced": "balanced accuracy"}.get(weight, "accuracy with class weights")


def tells_little(result: Mapping[str, Any]) -> str:
    """Return that no setting is clearly better than who always names one class; empty if one is."""
    rows, best = result.get("rows_train_by_class"), result["chosen"]["grid"][0]
    if not rows:
        return ""
    weight = str(result["config"].get("class-weight", "none"))
    weights = {"none": [1.0] * len(rows), "balanced": [1 / max(n, 1) for n in rows]}.get(weight)
    counted = np.multiply(rows, weights or [*map(float, weight.split(","))]).tolist()
    share = max(counted) / sum(counted)
    if best["accuracy"] - best["deviation"] > share:
        return ""
    always = f"who always says “{result['classes'][counted.index(max(counted))]}” has {share:.2%}"
    return (
        f"No setting has more {measure(result)} than no model by more than its deviation ({always}): the choice tells "
        "little."
    )


def too_good(result: Mapping[str, Any]) -> str:
    """Return that the best of several settings is less good for other patients; empty if there was no choice."""
    if len(result["chosen"]["grid"]) < 2:
        return ""
    test = "" if result["accuracy"] is None else "; the test rows had no part in the choice"
    return f"The best was chosen by these figures, and its own can be too good for that{test}."


def command(result: Mapping[str, Any]) -> str:
    """Return the command that trains with the chosen setting and all others of a run: its result, config with paths."""
    config, chosen = result["config"], result["chosen"]
    usual = default_config()
    tuned = [name for name in ("C", "gamma") if config[name] == "auto" or "," in str(config[name])]
    changed = {
        name: value
        for name, value in config.items()
        if value != usual[name] and name not in (*OF_COMMANDS, *tuned)
    }
    changed.update({name: chosen[name] for name in tuned})
    words = ["pansvm", "run"]
    for name, value in changed.items():
        if name == "data":
            words += [word for source in str(value).split(SEPARATOR) for word in ("--data", source)]
        elif value is not None:
            words += [f"--{name}", number_text(value) if isinstance(value, float) else str(value)]
    return shlex.join(words)


def print_choice(result: Mapping[str, Any], engine_option: str) -> None:
    """Print the grid that model choice has tried and how to train with the best point again."""
    chosen = result["chosen"]
    console = Console(highlight=False, markup=False)
    console.print(
        f"\n{measure(result).capitalize()} over {result['config']['cv-folds']} folds of the training rows, "
        "mean ± deviation:\n"
    )
    console.print(grid_table(chosen))
    for text in filter(None, (too_good(result), tells_little(result))):
        console.print(f"\n{text}", soft_wrap=True)
    for name in edges(chosen):
        console.print(f"\nThe best {name} is at the edge of what was tried. Try more: --{name} ...")
    console.print(f"\nBest setting: {command(result)}{engine_option}", soft_wrap=True)
    console.print("The model of the best setting has been trained as well, on all training rows:\n")
