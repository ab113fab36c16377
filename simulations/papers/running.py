"""Does the runs of a table: trainings of strategies, and what is no training of one."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from clients.table.file import read_frame, suffix_of
from flower_pansvm.registry import import_modules
from simulations.baselines.registry import all_baselines
from simulations.comparison.finished import RUNS_FILE, check_folder, finish
from simulations.comparison.workers import Result
from simulations.data.datasets import SHIPPED, locate
from simulations.data.pooling import pooled
from simulations.engines.running import train_in_process
from simulations.papers import li2014, lu2016_sets
from simulations.papers.reproduction import EXPERIMENTS, Prepared, Run, experiment
from strategies.locking import locked
from strategies.results import describe
from strategies.settings import Settings
from strategies.svm_settings import PanSvmSettings

PREPARED: dict[str, Prepared] = {**lu2016_sets.PREPARED, **li2014.PREPARED}
"""Data sets that are made from files of the folder, by the name that runs use."""

KEPT = (
    *("auc", "accuracy", "cut_rounds", "consensus_rounds", "bytes_up", "phases"),
    *("accuracy_by_count", "selected"),
)
"""What is kept of a ``result.json``, if it is there."""

Show = Callable[[Run, Result, int], None]
"""Receives each run that has ended, what it has found, and how many are left."""


def check(data: str, data_dir: Path | None) -> None:
    """Check that the files of a data set are there; the SettingError says which is not, and where it is described."""
    for name in PREPARED[data].files if data in PREPARED else (data,):
        locate(name, data_dir)


def source(data: str, data_dir: Path | None, folder: Path) -> str:
    """Return the setting ``data`` of a data set: its name if scikit-learn ships it, else a file, maybe made here."""
    if data in SHIPPED:
        return data
    if data not in PREPARED:
        return str(locate(data, data_dir).absolute())  # type: ignore[union-attr]
    file = folder / "data" / f"{data}.csv.gz"
    if not file.exists():
        one = PREPARED[data]
        table = one.make(*(_read(locate(name, data_dir)) for name in one.files))  # type: ignore[arg-type]
        file.parent.mkdir(parents=True, exist_ok=True)
        # Two processes may prepare the same set.
        half = file.with_name(f"{data}-{np.random.default_rng().integers(2**32)}.csv.gz")
        table.to_csv(half, index=False)
        half.replace(file)
    return str(file.absolute())


def _read(path: Path) -> pd.DataFrame:
    """Return the table of a file, numbers as numbers."""
    return pd.read_csv(path) if suffix_of(path.name) == ".csv" else read_frame(path)


def execute(run: Run, data_dir: Path | None, folder: Path) -> Result:
    """Do a run in this process; data sets that have to be prepared are kept in ``folder``."""
    # In a process of its own no paper's file has entered its experiments yet.
    import_modules("simulations.papers")
    settings, started = run.settings(source(str(run.config["data"]), data_dir, folder)), time.perf_counter()
    word, colon, name = run.strategy.partition(":")
    found = EXPERIMENTS[word].work(name, settings) if colon else federated(settings)
    return {**found, "wall": time.perf_counter() - started}


def federated(settings: Settings) -> dict[str, Any]:
    """Return what is kept of a federated run."""
    described = describe(train_in_process(settings), settings)
    found = {key: described[key] for key in KEPT if key in described}
    if described.get("chosen"):
        # With one point in the grid, this is cross-validation of that point.
        found["cv_accuracy"] = described["chosen"]["grid"][0]["accuracy"]
    if "selected" in found:
        found["selected"] = len(found["selected"])
    return found


@experiment("central", "pan-svm")
def central(name: str, settings: Settings) -> dict[str, Any]:
    """Return how good a classifier is that is trained on all rows in one place."""
    assert isinstance(settings, PanSvmSettings)
    rows = pooled(settings)
    evaluation = all_baselines()[f"central:{name}"](settings, rows.train, rows.test).evaluation
    return {"accuracy": evaluation.accuracy, "auc": evaluation.auc}


@experiment("folds", "pan-svm")
def over_folds(baseline: str, settings: Settings) -> dict[str, Any]:
    """Return the mean accuracy of a central classifier over five folds of all training rows."""
    assert isinstance(settings, PanSvmSettings)
    rows = pooled(settings).train
    folds = StratifiedKFold(settings.cv_folds, shuffle=True, random_state=settings.seed)
    accuracies = []
    for _, inside in folds.split(rows.X, rows.classes):
        out = np.isin(np.arange(len(rows.X)), inside)
        found = all_baselines()[baseline](settings, rows.of(~out), rows.of(out)).evaluation
        accuracies.append(found.accuracy)
    return {"accuracy": float(np.mean([accuracy for accuracy in accuracies if accuracy is not None]))}


def do_runs(
    runs: Iterable[Run], data_dir: Path | None, folder: Path, processes: int, show: Show
) -> Mapping[Run, Result]:
    """Return what the runs have found, so many at a time; those on file are not done again, unless they failed.

    SettingError if a data set is missing, before anything is run, or the folder holds something else.
    """
    wanted = list(dict.fromkeys(runs))
    for data in sorted({str(run.config["data"]) for run in wanted}):
        check(data, data_dir)
    with locked(folder):
        check_folder(folder, RUNS_FILE, "reproduction")
        return finish(wanted, folder, processes, partial(execute, data_dir=data_dir, folder=folder), show)
