"""Systems on the same data, splits and seeds: ``python -m simulations.benchmarks comparison --data-dir DIR``.

Federated systems train at level `exact`, ``dp-svm`` at `dp`, and baselines on true records. ``pansvm compare`` runs
the same comparisons of whatever is named.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from simulations.comparison.cluster import run_all
from simulations.comparison.plan import Plan
from simulations.comparison.run import line_of, run_case
from simulations.comparison.summary import frame, named, overview, summary

DATA = ("breast_cancer", "heart", "ionosphere", "diabetes")
STRATEGIES = (
    *("pan-svm", "dp-svm", "svm-ensemble", "svm-admm", "random-kernel", "ssvd", "mixture", "local-only"),
    *("fedavg:logistic", "central:svc", "central:nystroem", "central:naive-bayes"),
)
SPLITS = ("iid", "dirichlet:0.5:5")
"""Five rows of each class at each site, so that every system can train."""
REPEATS = 10


def lines(
    data_dir: Path,
    data: Sequence[str] = DATA,
    strategies: Sequence[str] = STRATEGIES,
    repeats: int = REPEATS,
    cluster: str = "",
) -> list[dict[str, Any]]:
    """Return the mean figures of each system by split, over data sets and repeats; failed runs are counted."""
    plan = Plan(
        data=tuple(data),
        strategies=tuple(strategies),
        splits=SPLITS,
        repeats=repeats,
        common={"data-dir": str(data_dir), "privacy": "exact"},
        # As published, with columns selected first, ssvd finds none to distort on a third of the unlike sites.
        varied={"C": (10.0,), **({"ssvd-order": ("perturb-first",)} if "ssvd" in strategies else {})},
    )
    runs = named(runs_of(plan, cluster))
    return [
        {"split": split, "system": name, **{str(key): value for key, value in figures.dropna().items()}}
        for split in SPLITS
        for name, figures in overview(runs[runs["split"] == split]).iterrows()
    ]


def means_of(
    plan: Plan, names: Sequence[str], cluster: str = ""
) -> Iterator[tuple[Mapping[Any, Any], dict[str, Any]]]:
    """Yield each line of a comparison's summary, with some of its figures, ready for JSON: None where there is none."""
    for line in summary(runs_of(plan, cluster)).to_dict("records"):
        yield line, {name: None if isnan(line[name]) else line[name] for name in names}


def runs_of(plan: Plan, cluster: str = "") -> pd.DataFrame:
    """Return the runs of a comparison, which are made on all processors, or on a Ray cluster."""
    plan.check()
    cases = plan.cases()
    # They end in any order.
    ended = dict(run_all(cases, os.cpu_count() or 1, run_case, cluster))
    return frame([line_of(case, ended[case]) for case in cases])


TABLES = {"systems": lines}
