"""One run of a reproduction: nothing but its settings, so that tables can share it and a stopped one can go on."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from flower_pansvm.registry import Registry
from flower_pansvm.terms import Scalar
from simulations import central_selection
from simulations.baselines.registry import all_baselines
from simulations.data.pooling import pooled
from simulations.engines.running import train_in_process
from simulations.papers.data import source
from simulations.papers.luo2009.experiments import do
from simulations.papers.one_owner import one_owner
from strategies.elimination import SelectionSettings
from strategies.mixture import MixtureSettings
from strategies.pan_svm_settings import PanSvmSettings
from strategies.registry import all_strategies
from strategies.results import describe
from strategies.settings import Settings, setting_fields, settings_from

CENTRAL = "central:"
"""Before the name of a classifier that is trained on all rows in one place."""

FOLDS = "folds:"
"""Before the name of such a classifier that is cross-validated on all rows, five folds."""

LIBSVM = "libsvm:"
"""Before the name of a selection of features whose classifier is LIBSVM on all rows in one place."""

PUBLIC = "public:"
"""Before the number of training rows that a LIBSVM is trained on, as if only they were public."""

OWNER = "owner:"
"""Before an experiment of a table whose one owner distorts and publishes it (:mod:`simulations.papers.one_owner`)."""

WEAK_MIXTURES = "mixture:"
"""Before the name of an experiment with weak mixture models (:mod:`simulations.papers.luo2009.experiments`)."""

KEPT = (
    "auc",
    "guarantee",
    *(
        "accuracy",
        "balanced_accuracy",
        "landmarks",
        "rank",
        "round_trips",
        "cut_rounds",
        "consensus_rounds",
        "bytes_up",
    ),
    *("bytes_down", "rows_train", "rows_test", "converged", "seconds", "accuracy_by_count", "selected"),
    *("steps_by_accuracy", "steps_tied"),
)
"""What is kept of a ``result.json``, if it is there."""

Result = Mapping[str, Any]
"""What a run has found, ready for JSON: entries of ``result.json``, or ``error`` alone if it failed."""


EXPERIMENTS: Registry[Callable[..., dict[str, Any]]] = Registry("experiment")
"""What a paper has tried that is no training of a strategy, by the name that stands for one."""


@dataclass(frozen=True)
class Run:
    """The settings of a run.

    Parameters
    ----------
    items : tuple of (str, scalar)
        Run config, sorted by name. ``data`` is a name of `simulations.papers.data`; ``strategy`` may also be that of a
        central baseline, or of a selection after `LIBSVM`, or a number of rows after `PUBLIC`, or
        an experiment after `WEAK_MIXTURES`.
    """

    items: tuple[tuple[str, Scalar], ...]

    @property
    def config(self) -> dict[str, Scalar]:
        """The run config."""
        return dict(self.items)

    @property
    def strategy(self) -> str:
        """The strategy, or what stands for one."""
        return str(self.config["strategy"])

    def settings(self, data: str) -> Settings:
        """Return the settings, with what the setting ``data`` is on this machine.

        Raises
        ------
        SettingError
            If a value cannot work.
        """
        return settings_from({**self.config, "strategy": trained_as(self.strategy), "data": data})

    @property
    def command(self) -> str:
        """The command that makes a federated run again; empty for what runs in one place."""
        central = (CENTRAL, FOLDS, LIBSVM, PUBLIC, OWNER, WEAK_MIXTURES)
        if self.strategy.startswith(central) or self.strategy in EXPERIMENTS:
            return ""
        options = {"data", "sites", "split", "seed", "strategy"}
        own = [f"--{key} {value}" for key, value in self.items if key in options]
        more = [f"--set {key}={value}" for key, value in self.items if key not in options]
        return " ".join(["pansvm run", *own, *more])


def trained_as(strategy: str) -> str:
    """Return the strategy whose settings a central classifier, selection or experiment has."""
    if strategy.startswith(OWNER):
        return "ssvd"
    if strategy.startswith(WEAK_MIXTURES):
        return WEAK_MIXTURES.removesuffix(":")
    return "pan-svm" if strategy.startswith((CENTRAL, FOLDS, PUBLIC)) else strategy.removeprefix(LIBSVM)


def make_run(strategy: str, data: str, **values: Scalar) -> Run:
    """Return a run by the names that settings have in Python; what the strategy does not have is left out."""
    own = setting_fields(all_strategies()[trained_as(strategy)].settings_class)
    config = {name.replace("_", "-"): value for name, value in values.items()}
    return Run(
        tuple(
            sorted(
                {
                    "strategy": strategy,
                    "data": data,
                    **{key: value for key, value in config.items() if key in own},
                }.items()
            )
        )
    )


def make_experiment(name: str, data: str, **values: Scalar) -> Run:
    """Return a run of one of `EXPERIMENTS` on a data set, with its own arguments."""
    return Run(tuple(sorted({"strategy": name, "data": data, **values}.items())))


def execute(run: Run, data_dir: Path, folder: Path) -> Result:
    """Do a run in this process.

    Parameters
    ----------
    run : Run
        The run.
    data_dir : Path
        Folder of data sets.
    folder : Path
        Where data sets that had to be prepared are kept.
    """
    file, started = source(str(run.config["data"]), data_dir, folder), time.perf_counter()
    if run.strategy in EXPERIMENTS:
        own = {key: value for key, value in run.items if key not in ("strategy", "data")}
        return {**EXPERIMENTS[run.strategy](file, **own), "wall": time.perf_counter() - started}
    settings = run.settings(file)
    found: dict[str, Any]
    if run.strategy.startswith(CENTRAL):
        assert isinstance(settings, PanSvmSettings)
        rows = pooled(settings)
        figures = all_baselines()[run.strategy](settings, rows.train, rows.test)
        evaluation = figures.evaluation
        found = {
            "accuracy": evaluation.accuracy,
            "auc": evaluation.auc,
            "converged": figures.converged,
        }
    elif run.strategy.startswith(OWNER):
        found = one_owner(run.strategy.removeprefix(OWNER), settings.data, settings.seed)
    elif run.strategy.startswith(PUBLIC):
        assert isinstance(settings, PanSvmSettings)
        found = {"auc": on_few_rows(int(run.strategy.removeprefix(PUBLIC)), settings)}
    elif run.strategy.startswith(FOLDS):
        assert isinstance(settings, PanSvmSettings)
        found = {"accuracy": over_folds(run.strategy.removeprefix(FOLDS), settings)}
    elif run.strategy.startswith(WEAK_MIXTURES):
        assert isinstance(settings, MixtureSettings)
        found = do(run.strategy.removeprefix(WEAK_MIXTURES), settings)
    elif run.strategy.startswith(LIBSVM):
        assert isinstance(settings, SelectionSettings)
        selection = central_selection.select(settings)
        found = {
            "accuracy_by_count": [asdict(point) for point in selection.points],
            "selected": len(selection.selected),
            **selection.ties(),
        }
    else:
        described = describe(train_in_process(settings), settings)
        found = {key: described[key] for key in KEPT if key in described}
        if described.get("chosen"):
            # With one point in the grid, this is cross-validation of that point.
            found["cv_accuracy"] = described["chosen"]["grid"][0]["accuracy"]
        if "selected" in found:
            found["selected"] = len(found["selected"])
    return {**found, "wall": time.perf_counter() - started}


def on_few_rows(count: int, settings: PanSvmSettings) -> float | None:
    """Return the AUC of a central SVM that is trained on so many training rows, of each class its share."""
    rows = pooled(settings)
    order = np.lexsort(
        (np.random.default_rng(settings.seed).permutation(len(rows.train.X)), rows.train.classes)
    )
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order[((np.arange(count) + 0.5) * len(order) / count).astype(np.int64)]] = True
    return all_baselines()["central:svc"](settings, rows.train.of(chosen), rows.test).evaluation.auc


def over_folds(baseline: str, settings: PanSvmSettings) -> float:
    """Return the mean accuracy of a central classifier over five folds of all training rows."""
    rows = pooled(settings).train
    folds = StratifiedKFold(settings.cv_folds, shuffle=True, random_state=settings.seed)
    accuracies = []
    for _, inside in folds.split(rows.X, rows.classes):
        out = np.isin(np.arange(len(rows.X)), inside)
        found = all_baselines()[baseline](settings, rows.of(~out), rows.of(out)).evaluation
        accuracies.append(found.accuracy)
    return float(np.mean([accuracy for accuracy in accuracies if accuracy is not None]))
