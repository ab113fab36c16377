"""One run of a comparison: what is run, and the line that it leaves in the table."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from flower_pansvm.terms import Scalar
from simulations.baselines.registry import all_baselines
from simulations.data.pooling import pooled
from simulations.engines.running import train_in_process
from simulations.running import with_sites_of_data
from strategies.results import describe
from strategies.settings import Settings, settings_from
from strategies.svm_settings import PanSvmSettings


@dataclass(frozen=True)
class Case:
    """A run of a comparison."""

    strategy: str  # a strategy or a baseline
    # data, split: data set as the user named it, and how its rows are dealt out.
    data: str
    split: str
    # Those of the settings that the comparison varies, such as ``C=10``; empty if it varies none.
    settings: str
    aggregation: str  # the secure sum; empty for a baseline, which has none
    # repeat, seed: number of the repeat from 0, and its seed.
    repeat: int
    seed: int
    config: Mapping[str, Scalar] = field(compare=False, repr=False)  # the run config

    @property
    def key(self) -> dict[str, Scalar]:
        """All but the run config; no two runs of a comparison have the same."""
        return {name: getattr(self, name) for name in KEY}

    @property
    def title(self) -> str:
        """What is run where, in a few words."""
        parts = (self.strategy, self.data, self.split, self.settings, self.aggregation)
        return ", ".join(filter(None, parts))


KEY = tuple(one.name for one in fields(Case) if one.compare)
"""What says which run it is, and the first columns of ``comparison.csv``."""

FIGURES = (
    *("level", "accuracy", "balanced_accuracy", "auc", "f1", "rows_test"),
    *("round_trips", "bytes_up", "bytes_down", "seconds", "disclosed", "converged", "model_sha256"),
)
"""What a run finds; the columns of ``comparison.csv`` after those of `KEY`, and before ``error``.

``level`` says of which records the sites' answers were made, with the noise; it is empty for a baseline, which has the
true ones. Accuracy and so on are on the true test rows of all sites. Bytes are those of all sites together, ``seconds``
those of training and evaluation, all sites on this machine. ``disclosed`` is what left the sites other than in a sum,
task by task; ``converged`` whether training came to its end; ``error`` why a run failed, and all else is then missing.
"""

COLUMNS = (*KEY, *FIGURES, "error")


def settings_of(case: Case) -> Settings:
    """Return the settings of a case, with its data's number of sites; for a baseline those that PAN-SVM would have.

    A strategy that is differentially private has one level, whatever the others are compared at.
    """
    config = dict(case.config)
    if case.strategy not in all_baselines():
        config |= {"strategy": case.strategy, "aggregation": case.aggregation}
        if settings_from({**config, "privacy": "auto"}).dp:
            config["privacy"] = "auto"
    return with_sites_of_data(settings_from(config))


def run_case(case: Case) -> dict[str, Any]:
    """Run a case in this process and return its figures, of `COLUMNS`; PanSVMError if it fails."""
    settings = settings_of(case)
    pool = pooled(settings) if case.strategy in all_baselines() else None
    started = time.perf_counter()
    if pool is None:
        result = describe(train_in_process(settings), settings)
    else:
        assert isinstance(settings, PanSvmSettings)
        found = all_baselines()[case.strategy](settings, pool.train, pool.test)
        result = {**vars(found), **vars(found.evaluation), "rows_test": found.evaluation.rows}
    seconds = round(time.perf_counter() - started, 3)
    level, noise = result.get("level", ""), result.get("noise")
    return {
        **{name: result[name] for name in FIGURES if name in result},
        "level": level + (f", noise {noise:g}" if noise else ""),
        "seconds": seconds,
        "disclosed": disclosed_text(result["disclosed"]) or ("" if pool is None else "all rows"),
    }


def disclosed_text(departures: Iterable[Mapping[str, Any]]) -> str:
    """Return what left the sites other than in a sum: ``held_out: rows; join: classes columns``."""
    tasks: dict[str, set[str]] = {}
    for entry in departures:
        if entry["how"] == "disclosed":
            tasks.setdefault(entry["task"], set()).add(entry["result"])
    return "; ".join(f"{task}: {' '.join(sorted(tasks[task]))}" for task in sorted(tasks))
