"""One run of a comparison, and its line in the table."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from flower_pansvm.terms import Scalar
from simulations.baselines.registry import BASELINES, baseline_result
from simulations.comparison.left_out import evaluate_left_out
from simulations.data.pooling import pooled
from simulations.engines.in_process import train_in_process
from simulations.origin import origin, versions_text
from simulations.running import with_sites_of_data
from strategies.results import describe
from strategies.settings import Settings, settings_from


@dataclass(frozen=True)
class Case:
    """A run of a comparison."""

    strategy: str  # a strategy or a baseline
    # data, split: data set as the user named it, and the partition of its rows.
    data: str
    split: str
    settings: str  # varied settings, such as ``C=10``; may be empty
    aggregation: str  # the secure sum; empty for a baseline
    repeat: int  # from 0
    seed: int  # of the repeat
    config: Mapping[str, Scalar] = field(compare=False, repr=False)  # the run config
    # The left-out site, from 0, which `split` names; None if all take part.
    left_out: int | None = field(default=None, compare=False)

    @property
    def key(self) -> dict[str, Scalar]:
        """All but the run config; unique in a comparison."""
        return {name: getattr(self, name) for name in KEY}

    @property
    def title(self) -> str:
        """Strategy, data, split and settings in a few words."""
        parts = (self.strategy, self.data, self.split, self.settings, self.aggregation)
        return ", ".join(filter(None, parts))


KEY = tuple(column.name for column in fields(Case) if column.compare)
"""The identity of a run, and the first columns of ``comparison.csv``."""

FIGURES = (
    *("level", "accuracy", "balanced_accuracy", "auc", "f1", "positive_class", "rows_train", "rows_test"),
    *("round_trips", "bytes_up", "bytes_down", "seconds", "disclosed", "converged", "model_sha256"),
)
"""The result of a run; the columns of ``comparison.csv`` after those of `KEY`, and before `ORIGIN` and ``error``.

``level`` is the privacy level with its noise; empty for a baseline, which trains on the true rows. Accuracy, AUC and F1
are on the true test rows of all sites. With two classes F1 is that of the positive class; with more, ``positive_class``
is empty. Bytes are those of all sites together, ``seconds`` those of training and evaluation, all sites on this
machine. ``disclosed`` lists the values that left the sites outside of a sum, by task; ``converged`` is whether training
converged; ``error`` the reason of a failed run, which has no other figure.
"""

ORIGIN = ("date", "commit", "versions")
"""The origin of a run; a resumed comparison may have several."""

COLUMNS = (*KEY, "sites", *FIGURES, *ORIGIN, "error")


def settings_of(case: Case) -> Settings:
    """Return the settings of a case, with its data's number of sites; for a baseline those of PAN-SVM.

    A differentially private strategy has one level, at whatever level the others are compared.
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
    """Return the line of a case in the table, from its run's result or error."""
    return {**case.key, **result, "sites": settings_of(case).sites, "level": level_of(case)}


def run_case(case: Case) -> dict[str, Any]:
    """Run a case in this process and return its `FIGURES` and `ORIGIN`; PanSVMError if it fails."""
    settings, baseline = settings_of(case), case.strategy in BASELINES
    pool = pooled(settings) if baseline and case.left_out is None else None
    started = time.perf_counter()
    if case.left_out is not None:
        result = evaluate_left_out(case.strategy, settings, case.left_out)
    elif pool is None:
        result = describe(train_in_process(settings), settings)
    else:
        result = baseline_result(case.strategy, settings, pool)
    seconds, source = round(time.perf_counter() - started, 3), origin()
    rows = {name: result[name] for name in ("rows_train", "rows_test")}
    if case.left_out is None:
        # Some strategies count no training rows, or rows with noise: the simulation knows them, and tests ask for them.
        known = pool or pooled(settings)
        rows = {"rows_train": len(known.train.classes), "rows_test": len(known.test.classes)}
    return {
        **{name: source[name] for name in ORIGIN},
        "versions": versions_text(source["versions"]),
        **{name: result[name] for name in FIGURES if name in result},
        **rows,
        "seconds": seconds,
        "disclosed": disclosed_text(result["disclosed"]) or ("all rows" if baseline else ""),
    }


def disclosed_text(disclosures: Iterable[Mapping[str, Any]]) -> str:
    """Return the values that left the sites outside of a sum: ``held_out: rows; join: classes columns``."""
    tasks: dict[str, set[str]] = {}
    for entry in disclosures:
        if entry["how"] == "disclosed":
            tasks.setdefault(entry["task"], set()).add(entry["result"])
    return "; ".join(f"{task}: {' '.join(sorted(tasks[task]))}" for task in sorted(tasks))
