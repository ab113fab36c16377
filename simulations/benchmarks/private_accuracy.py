"""Accuracy of differentially private models: ``python -m simulations.benchmarks private_accuracy --data-dir DIR``.

Accuracy is counted on the held-out rows in one place, without the noise of a run's own evaluation. The file is written
after each data set, since all of them take hours.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from flower_pansvm.errors import PanSVMError
from flower_pansvm.terms import Scalar
from simulations.baselines.registry import BASELINES
from simulations.benchmarks.results import Table, accuracy_of, in_parts, pool_of, results_of
from simulations.data.sites import join_data
from simulations.engines.in_process import train_in_process
from simulations.running import with_sites_of_data
from strategies.settings import Settings, settings_from
from strategies.svm_settings import PanSvmSettings

EXACT, MAJORITY = "exact SVM", "majority"
FEDERATED: Mapping[str, Mapping[str, Scalar]] = {
    "dp-svm": {},
    "private-svm": {"C-total": 10},
    "hybrid-svm": {"C-total": 10},
}
METHODS = (*FEDERATED, EXACT, MAJORITY)
TWO_CLASSES = ("private-svm", "hybrid-svm")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SEEDS = range(10)


@dataclass(frozen=True)
class DataSet:
    """A data set of the benchmark."""

    sources: tuple[str, ...]  # names in the folder of data sets; several are one site each
    positive: str = ""  # labels that count as positive, by commas
    svm: Mapping[str, Scalar] = field(default_factory=dict)  # settings of the exact SVM
    test: str = ""  # data set to test on; else a fifth of the rows


HOSPITALS = ("heart-cleveland", "heart-hungarian", "heart-switzerland", "heart-va")
SETS: Mapping[str, DataSet] = {
    "diabetes": DataSet(("diabetes",)),
    "breast_cancer": DataSet(("breast_cancer",)),
    "australian": DataSet(("australian",)),
    "heart": DataSet(HOSPITALS, positive="1,2,3,4"),
    "spambase": DataSet(("spambase",), svm={"C": 10}),
    "cod-rna.scaled": DataSet(("cod-rna.scaled",), svm={"C": 32, "gamma": "0.5"}),
    "a9a": DataSet(("a9a",)),
    "letter": DataSet(("letter",), svm={"C": 10}, test="letter.t"),
}


def settings_of(data_set: DataSet, data_dir: Path, seed: int, **config: Scalar) -> Settings:
    """Return the settings of a run on a data set: five sites, or one for each source."""
    common: dict[str, Scalar] = {
        "data": join_data(data_set.sources, str(data_dir)),
        "data-dir": str(data_dir),
        "positive": data_set.positive,
        "sites": 5,
        "test-fraction": 0.0 if data_set.test else 0.2,
        "seed": seed,
    }
    return with_sites_of_data(settings_from({**common, **config}))


def measure(name: str, data_dir: Path, method: str, epsilon: float, seed: int) -> float:
    """Train one of `METHODS` on one of `SETS`, and return its accuracy on the rows that the seed leaves out."""
    data_set = SETS[name]
    settings = settings_of(data_set, data_dir, seed, **data_set.svm)
    rows = pool_of(settings, data_set.test)
    if method in FEDERATED:
        config: dict[str, Scalar] = {"strategy": method, "epsilon": epsilon, **FEDERATED[method]}
        strategy = train_in_process(settings_of(data_set, data_dir, seed, **config))
        return accuracy_of(strategy.outcome.model, rows)
    if method == EXACT:
        assert isinstance(settings, PanSvmSettings)
        accuracy = BASELINES["central:svc"](settings, rows.train, rows.test).evaluation.accuracy
        assert accuracy is not None
        return accuracy
    return float(np.mean(rows.test.classes == np.bincount(rows.train.classes).argmax()))


def lines(
    name: str,
    data_dir: Path,
    methods: Sequence[str],
    epsilons: Sequence[float] = EPSILONS,
    seeds: Sequence[int] = SEEDS,
    cluster: str = "",
) -> Iterator[dict[str, Any]]:
    """Return the means of each method and ε over all splits, or why it cannot run; the deviation is of a split."""
    cells = {
        (method, epsilon): [(name, data_dir, method, epsilon or 0.0, seed) for seed in seeds]
        for method in methods
        for epsilon in ([None] if method in {EXACT, MAJORITY} else epsilons)
    }
    found = results_of(score, [call for calls in cells.values() for call in calls], cluster)
    for (method, epsilon), calls in cells.items():
        line = {"data": name, "method": method, "epsilon": epsilon}
        scores = [found[call] for call in calls]
        known = [one for one in scores if not isinstance(one, str)]
        if len(known) < len(scores):
            yield {**line, "error": next(one for one in scores if isinstance(one, str))}
            continue
        yield {
            **line,
            "splits": len(known),
            "accuracy": fmean(known),
            "deviation": stdev(known) if len(known) > 1 else None,
        }


def score(name: str, data_dir: Path, method: str, epsilon: float, seed: int) -> float | str:
    """Return the accuracy of `measure`, or why the method cannot run."""
    try:
        return measure(name, data_dir, method, epsilon, seed)
    except PanSVMError as error:
        return str(error)


def models(data_dir: Path, out: Path, cluster: str = "") -> Table:
    """Return the lines of all data sets."""

    def of_data(name: str) -> Table:
        methods = [method for method in METHODS if name != "letter" or method not in TWO_CLASSES]
        return list(lines(name, data_dir, methods, cluster=cluster))

    return in_parts("private_accuracy", SETS, of_data, out)


TABLES = {"models": models}
