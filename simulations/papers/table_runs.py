"""Does the runs of a table: trainings of strategies, and experiments."""

import hashlib
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from clients.table.file import read_frame, suffix_of
from clients.table.table import Table
from flower_pansvm.arrays import Ints
from flower_pansvm.errors import SettingError
from flower_pansvm.files import lock
from flower_pansvm.locking import locked
from flower_pansvm.systems.scaling import NO_FOLD
from simulations.baselines.registry import BASELINES
from simulations.comparison.finished import RUNS_FILE, check_folder, finish, succeeded
from simulations.comparison.workers import Result
from simulations.data.datasets import SHIPPED, load_dataset, locate
from simulations.data.pooling import PooledRows, pooled
from simulations.data.sites import drawn_split
from simulations.engines.in_process import train_in_process
from simulations.origin import origin
from simulations.papers import li2014, lu2016_sets, luo2009, mangasarian2008
from simulations.papers.declared import import_papers
from simulations.papers.reproduction import EXPERIMENTS, Prepared, Run, experiment, of_folds, tested_by_folds
from strategies.results import describe
from strategies.settings import Settings
from strategies.svm_settings import PanSvmSettings

PREPARED: dict[str, Prepared] = {
    **lu2016_sets.PREPARED,
    **li2014.PREPARED,
    **luo2009.PREPARED,
    **mangasarian2008.PREPARED,
}
"""Data sets that are made from files of the folder, by the name that runs use."""

KEPT = (
    *("auc", "accuracy", "cut_rounds", "consensus_rounds", "bytes_up", "phases"),
    *("accuracy_by_count", "selected"),
)
"""The kept entries of a ``result.json``, where it has them."""

FIFTHS = 5
"""Parts of a table of which one is left out for the test."""

load_once = lru_cache(2)(load_dataset)
"""Tables of genes take seconds to read."""

Show = Callable[[Run, Result, int], None]
"""Receives each run that has ended, its result, and the number of runs left."""


def check(data: str, data_dir: Path | None) -> None:
    """Check that the files of a data set exist; the SettingError names the missing one, and its description."""
    for name in PREPARED[data].files if data in PREPARED else (data,):
        locate(name, data_dir)


def digest_of(data: str, data_dir: Path | None) -> str:
    """Return the SHA-256 of the files of a data set; empty if scikit-learn ships it."""
    names = PREPARED[data].files if data in PREPARED else (data,)
    paths = [path for path in (locate(name, data_dir) for name in names) if path]
    return _digest(tuple((path, path.stat().st_mtime_ns) for path in paths)) if paths else ""


@lru_cache(64)
def _digest(files: tuple[tuple[Path, int], ...]) -> str:
    combined = hashlib.sha256()
    for path, _ in files:
        combined.update(hashlib.sha256(path.read_bytes()).digest())
    return combined.hexdigest()


def source(data: str, data_dir: Path | None, folder: Path) -> str:
    """Return the setting ``data`` of a data set: its name if scikit-learn ships it, else a file, maybe made here."""
    if data in SHIPPED:
        return data
    if data not in PREPARED:
        return str(locate(data, data_dir).absolute())  # type: ignore[union-attr]
    file = folder / "data" / digest_of(data, data_dir)[:8] / f"{data}.csv.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_suffix(".lock").open("a") as held:
        # Another process may prepare the same set: a run of its would refuse a file that is written anew.
        with suppress(SettingError):  # a file system without locks
            lock(held, wait=True)
        if not file.exists():
            prepared = PREPARED[data]
            table = prepared.make(*(_read(locate(name, data_dir)) for name in prepared.files))  # type: ignore[arg-type]
            half = file.with_name(f"half-{file.name}")
            table.to_csv(half, index=False)
            half.replace(file)
    return str(file.absolute())


def _read(path: Path) -> pd.DataFrame:
    """Return the table of a file, numbers as numbers."""
    return pd.read_csv(path) if suffix_of(path.name) == ".csv" else read_frame(path)


def execute(run: Run, data_dir: Path | None, folder: Path) -> Result:
    """Do a run in this process; data sets that have to be prepared are kept in ``folder``."""
    # In a process of its own no paper's file has entered its experiments yet.
    import_papers()
    settings = run.settings(source(str(run.config["data"]), data_dir, folder))
    started, used = time.perf_counter(), time.process_time()
    word, colon, name = run.strategy.partition(":")
    result = EXPERIMENTS[word].work(name, settings) if colon else federated(settings)
    spent = {"wall": time.perf_counter() - started, "cpu": time.process_time() - used}
    return {**result, **spent, **origin(), "sha256": digest_of(str(run.config["data"]), data_dir)}


def federated(settings: Settings) -> dict[str, Any]:
    """Return the kept entries of a federated run's result."""
    described = describe(train_in_process(settings), settings)
    figures = {key: described[key] for key in KEPT if key in described}
    if described.get("chosen"):
        # With one point in the grid, this is cross-validation of that point.
        point = described["chosen"]["grid"][0]
        figures |= {"cv_accuracy": point["accuracy"], "fold_deviation": point["deviation"]}
    if settings.folds and not settings.test_fraction:
        figures |= tested_by_folds(settings.folds)
    if "selected" in figures:
        figures["selected"] = len(figures["selected"])
    return figures


@experiment("central", "pan-svm")
def central(name: str, settings: Settings) -> dict[str, Any]:
    """Return accuracy and AUC of a classifier that is trained on all rows in one place."""
    assert isinstance(settings, PanSvmSettings)
    rows = pooled(settings)
    evaluation = BASELINES[f"central:{name}"](settings, rows.train, rows.test).evaluation
    return {"accuracy": evaluation.accuracy, "auc": evaluation.auc}


@experiment("rotated", "pan-svm")
def rotated(name: str, settings: Settings) -> dict[str, Any]:
    """Return the accuracy on one fifth of all rows, held out before the others are partitioned over the sites.

    Seeds 0 to 4 leave out one fifth after the other, seeds 5 to 9 those of another draw, and so on. A fifth has the
    classes' shares of the whole table, so that a class with fewer rows than sites is tested as often as others: where
    each site leaves out a fifth of its own rows, such a class has hardly a test row. ``name`` is ``pan-svm``, or a
    central classifier and the share of the other rows that it is trained on, in percent.
    """
    assert isinstance(settings, PanSvmSettings)
    table = load_once(settings.data)
    assert table.labels is not None
    folds = StratifiedKFold(FIFTHS, shuffle=True, random_state=settings.seed // FIFTHS)
    # A class of fewer rows than folds has rows in some of them only; scikit-learn warns of it.
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        inside, out = list(folds.split(table.X, table.labels))[settings.seed % FIFTHS]
    accuracy = (_federated_on if name == "pan-svm" else partial(_central_on, name))(
        settings, table, inside, out
    )
    return {"accuracy": accuracy, "tested": 1 / FIFTHS}


def _federated_on(settings: PanSvmSettings, table: Table, inside: Ints, out: Ints) -> float:
    """Return the accuracy of PAN-SVM, trained on some rows of a table, on others."""
    frame, labels = pd.DataFrame(table.X, columns=list(table.columns)), np.asarray(table.labels)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "train.csv"
        frame.iloc[inside].assign(label=labels[inside]).to_csv(file, index=False)
        model = train_in_process(replace(settings, data=str(file))).outcome.model
    assert model is not None
    return float(np.mean(model.predict(frame.iloc[out]).astype(str) == labels[out]))


def _central_on(name: str, settings: PanSvmSettings, table: Table, inside: Ints, out: Ints) -> float:
    """Return the accuracy of a central classifier, trained on a share of some rows of a table, on others."""
    baseline, share = name.split()
    classes = np.unique(np.asarray(table.labels), return_inverse=True)[1]
    nobody = np.full(len(classes), NO_FOLD)
    rows = PooledRows(table.X, classes, nobody, nobody, np.arange(len(classes)))
    labels = classes[inside].astype(str)
    unused = drawn_split(labels, np.arange(len(labels)), 1 - int(share) / 100, settings.seed, 0).held_out
    train, test = (np.isin(np.arange(len(classes)), members) for members in (inside[~unused], out))
    accuracy = BASELINES[baseline](settings, rows.of(train), rows.of(test)).evaluation.accuracy
    assert accuracy is not None
    return accuracy


@experiment("folds", "pan-svm")
def over_folds(baseline: str, settings: Settings) -> dict[str, Any]:
    """Return the mean accuracy of a central classifier over the folds of all training rows."""
    assert isinstance(settings, PanSvmSettings)
    rows = pooled(settings).train
    folds = StratifiedKFold(settings.cv_folds, shuffle=True, random_state=settings.seed)
    accuracies = []
    for _, inside in folds.split(rows.X, rows.classes):
        out = np.isin(np.arange(len(rows.X)), inside)
        accuracies.append(BASELINES[baseline](settings, rows.of(~out), rows.of(out)).evaluation.accuracy)
    return of_folds(np.array(accuracies, dtype=float))


def do_runs(
    runs: Iterable[Run],
    data_dir: Path | None,
    folder: Path,
    processes: int,
    show: Show,
    cluster: str = "",
) -> Mapping[Run, Result]:
    """Return the results of runs, so many at a time; runs on file are not done again, unless they failed.

    SettingError if a data set is missing, before anything is run, or the folder holds something else.
    """
    wanted = list(dict.fromkeys(runs))
    for data in sorted({str(run.config["data"]) for run in wanted}):
        check(data, data_dir)
    with locked(folder):
        check_folder(folder, RUNS_FILE, "reproduction")
        done = succeeded(wanted, folder)
        _check_versions(done.values(), folder)
        _check_data(done, data_dir, folder)
        run = partial(execute, data_dir=data_dir, folder=folder)
        return finish(wanted, folder, processes, run, show, cluster)


def _check_data(done: Mapping[Run, Result], data_dir: Path | None, folder: Path) -> None:
    """Check that runs on file had the data files of today; SettingError if a table would mix data."""
    here = {data: digest_of(data, data_dir) for data in {str(run.config["data"]) for run in done}}
    other = {
        data
        for run, result in done.items()
        if result.get("sha256", here[data := str(run.config["data"])]) != here[data]
    }
    if other:
        raise SettingError(
            f"Runs in '{folder}' were done on other files of {', '.join(sorted(other))}. A table of both would mix "
            "data. Put those files back (--data-dir), or name another folder by --out."
        )


def _check_versions(done: Iterable[Result], folder: Path) -> None:
    """Check that runs on file had the packages of this environment; SettingError if a table would mix versions."""
    here = origin()["versions"]
    other = {
        f"{package} {version}"
        for result in done
        for package, version in result.get("versions", {}).items()
        if here.get(package) != version
    }
    if other:
        raise SettingError(
            f"Runs in '{folder}' were done with {', '.join(sorted(other))}, and this environment has "
            f"{', '.join(f'{name} {here.get(name)}' for name in sorted(entry.split()[0] for entry in other))}. A "
            "table of both would compare versions. Install those versions, or name another folder by --out."
        )
