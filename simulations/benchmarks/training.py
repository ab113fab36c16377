"""Training on the nine small sets of Lu 2016, Table 3.1: ``python -m simulations.benchmarks training --data-dir DIR``.

``rounds`` has the rounds of cutting planes of each search to a gap of 10⁻³ with the paper's settings; ``accuracy``
compares levels with a central SVC over many splits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from flower_pansvm.terms import Scalar
from simulations.baselines.registry import BASELINES
from simulations.benchmarks.results import pool_of, results_of
from simulations.engines.in_process import train_in_process
from simulations.papers.lu2016_sets import (
    AUSTRALIAN,
    BREAST_CANCER,
    DIABETES,
    FOURCLASS,
    GERMAN,
    HEART,
    IONOSPHERE,
    LIVER,
    SPLICE,
    ThesisSet,
)
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import make_settings
from strategies.svm_settings import PanSvmSettings

NINE = (
    AUSTRALIAN,
    GERMAN,
    # Not the paper's gamma of 0.5: with 60 features in [-1, 1] that is a kernel of identity.
    replace(SPLICE, gamma=2.0**-7),
    DIABETES,
    HEART,
    IONOSPHERE,
    LIVER,
    # The paper's gamma, with which a central SVM is far from its tables.
    replace(FOURCLASS, gamma=2.0**-5),
    BREAST_CANCER,
)

TO_A_THOUSANDTH: Mapping[str, Mapping[str, Scalar]] = {
    "fast": {"privacy": "exact", "tol": 1e-3},
    "published": {"privacy": "exact", "search": "published", "tol": 1e-3},
}
COMPARED: Mapping[str, Mapping[str, Scalar]] = {
    "exact": {"privacy": "exact"},
    "exact, tol=0.001": {"privacy": "exact", "tol": 1e-3},
    "perturbed, noise 0.25": {"privacy": "perturbed", "noise": 0.25},
    "perturbed, noise 0.5": {"privacy": "perturbed", "noise": 0.5},
}
CENTRAL = "central SVC"
SEEDS = range(12)


def paper_settings(data_set: ThesisSet, data_dir: Path, **more: object) -> PanSvmSettings:
    """Return settings with features in [-1, 1], a quarter of the rows as landmarks, and all rows to train on."""
    common = {
        "data": data_set.data,
        "data_dir": str(data_dir),
        "C": data_set.C,
        "gamma": data_set.gamma,
        "scaling": "minmax",
    }
    chosen = make_settings(**{**common, "landmarks": 0.25, "test_fraction": 0.0, **more})
    assert isinstance(chosen, PanSvmSettings)
    return chosen


def rounds(data_dir: Path, sets: Sequence[ThesisSet] = NINE) -> Iterator[dict[str, Any]]:
    """Train on all rows of each set with each search; single rows may be landmarks."""
    for data_set in sets:
        for search, changes in TO_A_THOUSANDTH.items():
            strategy = train_in_process(paper_settings(data_set, data_dir, min_cluster=1, **changes))
            assert isinstance(strategy, PanSVM)
            (state,) = strategy.training.progress
            rank, trips = state.problem.rank, state.rounds
            yield {"data": data_set.data, "search": search, "rank": rank, "rounds": trips}


def accuracies(
    data_dir: Path, sets: Sequence[ThesisSet] = NINE, seeds: Sequence[int] = SEEDS, cluster: str = ""
) -> Iterator[dict[str, Any]]:
    """Train on four fifths of each set and test on the rest, the same rows for all; deviations are of a split."""
    systems = (*COMPARED, CENTRAL)
    found = results_of(accuracy, list(product(sets, [data_dir], systems, seeds)), cluster)
    for data_set, system in product(sets, systems):
        values, counts = zip(*(found[data_set, data_dir, system, seed] for seed in seeds), strict=True)
        yield {
            "data": data_set.data,
            "system": system,
            "splits": len(values),
            "accuracy": fmean(values),
            "deviation": stdev(values) if len(values) > 1 else None,
            "rounds": None if system == CENTRAL else fmean(counts),
        }


def accuracy(data_set: ThesisSet, data_dir: Path, system: str, seed: int) -> tuple[float, int]:
    """Return the accuracy of a system on a fifth of a set, and its rounds."""
    settings = paper_settings(data_set, data_dir, test_fraction=0.2, seed=seed, **COMPARED.get(system, {}))
    if system == CENTRAL:
        rows = pool_of(settings)
        central = BASELINES["central:svc"](settings, rows.train, rows.test)
        return central.evaluation.accuracy or 0.0, 0
    strategy = train_in_process(settings)
    assert isinstance(strategy, PanSVM)
    return strategy.evaluation.accuracy or 0.0, strategy.training.progress[0].rounds


TABLES = {"rounds": rounds, "accuracy": accuracies}
