"""The benchmark of private models: ``python -m simulations.benchmarks.private_accuracy --data-dir DIR --out DIR``.

Accuracy against epsilon, beside peers, over splits of the rows; and what a site sends. Each model is a line of
``runs.csv`` as soon as it is tried, and what is in the file is not done again: a stopped benchmark goes on, and a later
one adds sets, methods, epsilons or splits. ``figures.md`` and ``accuracy-epsilon.png`` are made of the whole file.
"""

import csv
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from flower_pansvm.errors import PanSVMError
from flower_pansvm.setting_values import near_matches
from simulations.benchmarks import private_tables
from simulations.benchmarks.private_methods import DIFFPRIVLIB, EXACT, MAJORITY, SETS, measure
from simulations.benchmarks.private_tables import PrivateRun
from simulations.engines.flower_log import quieter

RUNS = "runs.csv"


class Todo(NamedTuple):
    """A model that is to be measured."""

    data: str
    method: str
    epsilon: float
    seed: int


def main(
    data_dir: Annotated[Path, typer.Option(help="Folder of data sets.")],
    out: Annotated[Path, typer.Option(help="Folder for the figures; what it has is not measured again.")],
    sets: Annotated[str, typer.Option(help="Data sets, by commas.")] = ",".join(SETS),
    methods: Annotated[
        str,
        typer.Option(
            help=f"Strategies with a setting epsilon, by commas, and {DIFFPRIVLIB}, {EXACT} or {MAJORITY}."
        ),
    ] = f"dp-svm,{EXACT},{MAJORITY}",
    epsilons: Annotated[str, typer.Option(help="Promises, by commas.")] = "0.5,1,4",
    splits: Annotated[int, typer.Option(help="Splits of the rows: seeds from 0.")] = 10,
) -> None:
    """Measure the accuracy of private models."""
    chosen = sets.split(",") if sets else []
    for name in chosen:
        if name not in SETS:
            raise typer.BadParameter(f"There is no data set '{name}' here. {near_matches(name, SETS)}")
    wanted = _todo(chosen, methods.split(","), [float(epsilon) for epsilon in epsilons.split(",")], splits)
    out.mkdir(parents=True, exist_ok=True)
    done = _read(out / RUNS)
    for todo in wanted:
        if todo in done:
            continue
        try:
            run = PrivateRun(*todo, *measure(todo.data, data_dir, todo.method, todo.epsilon, todo.seed))
        except PanSVMError as error:
            raise typer.BadParameter(f"{todo.method} on {todo.data}: {error}") from None
        done[todo] = run
        _append(out / RUNS, run)
        _show(f"{todo.data}, {todo.method}, epsilon {todo.epsilon:g}, split {todo.seed}: {run.accuracy:.4f}")
    runs = list(done.values())
    (out / "figures.md").write_text(private_tables.markdown_of(runs), encoding="utf-8")
    private_tables.plot(runs, out / "accuracy-epsilon.png")
    _show(f"The figures are in {out}: figures.md, accuracy-epsilon.png, {RUNS}")


def _todo(sets: list[str], methods: list[str], epsilons: list[float], splits: int) -> Iterator[Todo]:
    """Yield what is to be measured; the rows of one split after the other."""
    for data in sets:
        for seed in range(splits):
            for method in methods:
                for epsilon in [0.0] if method in {EXACT, MAJORITY} else epsilons:
                    yield Todo(data, method, epsilon, seed)


def _read(file: Path) -> dict[Todo, PrivateRun]:
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as stream:
        runs = [
            PrivateRun(
                line["data"],
                line["method"],
                float(line["epsilon"]),
                int(line["seed"]),
                float(line["accuracy"]),
                int(line["numbers_per_site"]),
                int(line["round_trips"]),
            )
            for line in csv.DictReader(stream)
        ]
    return {Todo(run.data, run.method, run.epsilon, run.seed): run for run in runs}


def _append(file: Path, run: PrivateRun) -> None:
    new = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        if new:
            writer.writerow(PrivateRun._fields)
        writer.writerow(run)


def _show(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    # private-svm warns in each run that its coordinator is trusted.
    with quieter(logging.ERROR):
        typer.run(main)
