"""One run of a comparison: what is run, and the line that it leaves in the table."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from flower_pansvm.terms import Scalar
from simulations.baselines.registry import BASELINES
from simulations.comparison.left_out import try_elsewhere
from simulations.data.pooling import pooled
from simulations.engines.running import train_in_process
from simulations.origin import origin, versions_text
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
    # Number of the site that is left out and tested on, which `split` names; None where all take part.
    left_out: int | None = field(default=None, compare=False)

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
    *("level", "accuracy", "balanced_accuracy", "auc", "f1", "positive_class", "rows_train", "rows_test"),
    *("round_trips", "bytes_up", "bytes_down", "seconds", "disclosed", "converged", "model_sha256"),
)
"""What a run finds; the columns of ``comparison.csv`` after those of `KEY`, and before `ORIGIN` and ``error``.

``level`` says of which records the sites' answers were made, with the noise; it is empty for a baseline, which has the
true ones. Accuracy and so on are on the true test rows of all sites. Of two classes F1 is that of the positive one;
``positive_class`` is empty with more. Bytes are those of all sites together, ``seconds``
those of training and evaluation, all sites on this machine. ``disclosed`` is what left the sites other than in a sum,
task by task; ``converged`` whether training came to its end; ``error`` why a run failed, and all else is then missing.
"""

ORIGIN = ("date", "commit", "versions")
"""Of a run; a comparison that goes on later may have several."""

COLUMNS = (*KEY, "sites", *FIGURES, *ORIGIN, "error")


def settings_of(case: Case) -> Settings:
    """Return the settings of a case, with its data's number of sites; for a baseline those that PAN-SVM would have.

    A strategy that is differentially private has one level, whatever the others are compared at.
    """
    config = dict(case.config)
    if case.strategy not in BASELINES:
        config |= {"strategy": case.strategy, "aggregation": case.aggregation}
        if settings_from({**config, "privacy": "auto"}).dp:
            config["privacy"] = "auto"
    return with_sites_of_data(settings_from(config))


def level_of(case: Case) -> str:
    """Return the privacy level of a case with its noise; empty for a baseline."""
    if case.strategy in BASELINES:
        return ""
    settings = settings_of(case)
    return settings.level + (f", noise {settings.noise:g}" if settings.level == "perturbed" else "")


def line_of(case: Case, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line of a case in the table, from what its run has found or why it failed."""
    return {**case.key, **result, "sites": settings_of(case).sites, "level": level_of(case)}


def run_case(case: Case) -> dict[str, Any]:
    """Run a case in this process and return what it has found of `FIGURES`, and `ORIGIN`; PanSVMError if it fails."""
    settings, baseline = settings_of(case), case.strategy in BASELINES
    pool = pooled(settings) if baseline and case.left_out is None else None
    started = time.perf_counter()
    if case.left_out is not None:
        result = try_elsewhere(case.strategy, settings, case.left_out)
    elif pool is None:
        result = describe(train_in_process(settings), settings)
    else:
        assert isinstance(settings, PanSvmSettings)
        found = BASELINES[case.strategy](settings, pool.train, pool.test)
        result = {**vars(found), **vars(found.evaluation), "rows_test": found.evaluation.rows}
        result |= {"rows_train": len(pool.train.classes), "positive_class": pool.schema.positive_class}
    seconds, known = round(time.perf_counter() - started, 3), origin()
    return {
        **{name: known[name] for name in ORIGIN},
        "versions": versions_text(known["versions"]),
        **{name: result[name] for name in FIGURES if name in result},
        "seconds": seconds,
        "disclosed": disclosed_text(result["disclosed"]) or ("all rows" if baseline else ""),
    }


def disclosed_text(departures: Iterable[Mapping[str, Any]]) -> str:
    """Return what left the sites other than in a sum: ``held_out: rows; join: classes columns``."""
    tasks: dict[str, set[str]] = {}
    for entry in departures:
        if entry["how"] == "disclosed":
            tasks.setdefault(entry["task"], set()).add(entry["result"])
    return "; ".join(f"{task}: {' '.join(sorted(tasks[task]))}" for task in sorted(tasks))
