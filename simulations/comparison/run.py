"""One run of a comparison: what is run, and the line that it leaves in the table."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from flower_pansvm.errors import PanSVMError
from flower_pansvm.terms import Scalar
from simulations.baselines.registry import all_baselines
from simulations.data.pooling import pooled
from simulations.engines.running import train_in_process
from simulations.running import with_sites_of_data
from strategies.results import describe
from strategies.settings import Settings, settings_from
from strategies.svm_settings import PanSvmSettings


@dataclass(frozen=True)
class Which:
    """Which run of a comparison it is.

    Parameters
    ----------
    strategy : str
        A strategy or a baseline.
    data, split : str
        Data set as the user named it, and how its rows are dealt out.
    settings : str
        Those of the settings that the comparison varies, such as ``C=10``; empty if it varies none.
    aggregation : str
        The secure sum; empty for a baseline, which has none.
    repeat, seed : int
        Number of the repeat from 0, and its seed.
    """

    strategy: str
    data: str
    split: str
    settings: str
    aggregation: str
    repeat: int
    seed: int

    @property
    def key(self) -> tuple[str | int, ...]:
        """All of it; no two runs have the same."""
        return tuple(getattr(self, name) for name in KEY)

    @property
    def place(self) -> str:
        """Where the strategy is run, in a few words."""
        return ", ".join(filter(None, (self.data, self.split, self.settings, self.aggregation)))


KEY = tuple(one.name for one in fields(Which))
"""What says which run it is."""


@dataclass(frozen=True)
class Case(Which):
    """A run to be done.

    Parameters
    ----------
    config : mapping
        The run config.
    """

    config: Mapping[str, Scalar] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Finished(Which):
    """A run that is over: a line of ``comparison.csv``, whose columns are the fields of `Which` and these.

    What was not measured is None.

    Parameters
    ----------
    level : str
        Of which records the sites' answers were made, and the noise; empty for a baseline, which has the true ones.
    accuracy, balanced_accuracy, auc, f1 : float or None
        On the true test rows of all sites.
    rows_test : int or None
        How many these are.
    round_trips, bytes_up, bytes_down : int or None
        What it took of the network, all sites together.
    seconds : float or None
        Wall-clock time of training and evaluation, all sites on this machine.
    disclosed : str
        What left the sites other than in a sum, task by task.
    converged : bool or None
        Whether training came to its end.
    model_sha256 : str
        Digest of the model, if it made one.
    error : str
        Why the run failed; empty if it did not.
    """

    level: str = ""
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    auc: float | None = None
    f1: float | None = None
    rows_test: int | None = None
    round_trips: int | None = None
    bytes_up: int | None = None
    bytes_down: int | None = None
    seconds: float | None = None
    disclosed: str = ""
    converged: bool | None = None
    model_sha256: str = ""
    error: str = ""

    @classmethod
    def of(cls, case: Case, **figures: Any) -> "Finished":
        """Return the line of a case with these figures."""
        return cls(**{name: getattr(case, name) for name in KEY}, **figures)


def settings_of(case: Case) -> Settings:
    """Return the settings of a case; for a baseline those that PAN-SVM would have.

    A strategy that is differentially private has one level, whatever the others are compared at.

    Raises
    ------
    PanSVMError
        If a value cannot work, or the data that say how many sites there are cannot be read.
    """
    config = dict(case.config)
    if case.strategy not in all_baselines():
        config |= {"strategy": case.strategy, "aggregation": case.aggregation}
        if settings_from({**config, "privacy": "auto"}).dp:
            config["privacy"] = "auto"
    return with_sites_of_data(settings_from(config))


def run_case(case: Case) -> Finished:
    """Run a case in this process; an error becomes part of its line."""
    try:
        return Finished.of(case, **(_baseline(case) if case.strategy in all_baselines() else _strategy(case)))
    except PanSVMError as error:
        return Finished.of(case, error=_line(error.with_detail()))
    except Exception as error:
        # A fault of one strategy must not end the others.
        return Finished.of(case, error=_line(f"{type(error).__name__}: {error}"))


def _line(text: str) -> str:
    """Return a text on one line, as tables have it."""
    return " ".join(text.split())


def _strategy(case: Case) -> dict[str, Any]:
    settings = settings_of(case)
    started = time.perf_counter()
    trained = train_in_process(settings)
    seconds = time.perf_counter() - started
    result = describe(trained, settings)
    names = (
        *("accuracy", "balanced_accuracy", "auc", "f1", "rows_test"),
        *("round_trips", "bytes_up", "bytes_down"),
    )
    return {
        "level": result["level"] + (f", noise {result['noise']:g}" if result["noise"] else ""),
        **{name: result[name] for name in names},
        "seconds": round(seconds, 3),
        "disclosed": disclosed_text(result["disclosed"]),
        "converged": result.get("converged"),
        "model_sha256": result["model_sha256"] or "",
    }


def _baseline(case: Case) -> dict[str, Any]:
    settings = settings_of(case)
    assert isinstance(settings, PanSvmSettings)
    pool = pooled(settings)
    started = time.perf_counter()
    found = all_baselines()[case.strategy](settings, pool.train, pool.test)
    seconds = time.perf_counter() - started
    return {
        "accuracy": found.evaluation.accuracy,
        "balanced_accuracy": found.evaluation.balanced_accuracy,
        "auc": found.evaluation.auc,
        "f1": found.evaluation.f1,
        "rows_test": found.evaluation.rows,
        "round_trips": found.round_trips,
        "bytes_up": found.bytes_up,
        "bytes_down": found.bytes_down,
        "seconds": round(seconds, 3),
        "disclosed": disclosed_text(found.disclosed) or "all rows",
        "converged": found.converged,
    }


def disclosed_text(departures: Iterable[Mapping[str, Any]]) -> str:
    """Return what left the sites other than in a sum: ``held_out: rows; join: classes columns``."""
    tasks: dict[str, set[str]] = {}
    for entry in departures:
        if entry["how"] == "disclosed":
            tasks.setdefault(entry["task"], set()).add(entry["result"])
    return "; ".join(f"{task}: {' '.join(sorted(tasks[task]))}" for task in sorted(tasks))
