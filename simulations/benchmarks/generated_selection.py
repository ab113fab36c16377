"""Do selections find the features that matter? ``python -m simulations.benchmarks.generated_selection --out DIR``.

On generated rows it is known which features are noise: 10 features are informative, 10 are combinations of them, and 80
are noise. It writes and prints how many of the 15 features that PPFSVW ranks best are none, and how many of those that
PPFSIFW chooses are, for several seeds.
"""

from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import typer
from sklearn.datasets import make_classification

from simulations.engines.running import train_in_process
from simulations.markdown import markdown
from strategies.elimination import Elimination
from strategies.settings import make_settings

ROWS, FEATURES, USEFUL = 800, 100, 20
BEST = 15


class FoundFeatures(NamedTuple):
    """What one selection has found.

    Parameters
    ----------
    method : str
        The strategy.
    seed : int
        Seed of the rows, their split and their folds.
    useful_best : int
        Features that are no noise among the 15 ranked best.
    chosen, noise : int
        Features that were chosen, and how many of them are noise.
    accuracy_all, accuracy_chosen : float
        Mean accuracy over the folds with all features and with the chosen ones.
    undecided : float
        Share of the steps in which the votes differed.
    round_trips : float
        Round trips per removed feature.
    """

    method: str
    seed: int
    useful_best: int
    chosen: int
    noise: int
    accuracy_all: float
    accuracy_chosen: float
    undecided: float
    round_trips: float


def main(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")],
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 5,
    C: Annotated[float, typer.Option(help="Penalty of the SVM.")] = 0.25,
) -> None:
    """Select features of generated rows at five sites in this process."""
    out.mkdir(parents=True, exist_ok=True)
    found = []
    for seed in range(seeds):
        for method in ("voted-wrapper", "filter-wrapper"):
            found.append(select(method, seed, C, out))
            typer.echo(str(found[-1]))
    lines = [[str(round(cell, 3)) for cell in one if not isinstance(cell, str)] for one in found]
    table = markdown(
        list(FoundFeatures._fields), [[one.method, *line] for one, line in zip(found, lines, strict=True)]
    )
    (out / "generated.md").write_text(table + "\n", encoding="utf-8")


def select(method: str, seed: int, C: float, folder: Path, features: int = FEATURES) -> FoundFeatures:
    """Select features of the generated rows of a seed; all rows take part (CV1), one feature goes at a time."""
    X, y = make_classification(
        ROWS,
        features,
        n_informative=USEFUL // 2,
        n_redundant=USEFUL // 2,
        class_sep=1.5,
        shuffle=False,
        random_state=seed,
    )
    file = folder / f"generated-{seed}.csv"
    pd.DataFrame(X, columns=[f"x{one}" for one in range(features)]).assign(label=y).to_csv(file, index=False)
    settings = make_settings(
        data=str(file.absolute()), strategy=method, seed=seed, C=C, step="1", test_fraction=0.0
    )
    strategy = train_in_process(settings)
    assert isinstance(strategy, Elimination)
    selection = strategy.selection
    by_count = {point.features: point.accuracy for point in selection.points}
    return FoundFeatures(
        method,
        seed,
        sum(one < USEFUL for one in selection.ranking[:BEST]),
        len(selection.selected),
        sum(one >= USEFUL for one in selection.selected),
        selection.points[0].accuracy,
        by_count[len(selection.selected)],
        float(np.mean([bool(step.accuracies) for step in selection.steps])),
        strategy.federation.costs.round_trips / sum(len(step.removed) for step in selection.steps),
    )


if __name__ == "__main__":
    typer.run(main)
