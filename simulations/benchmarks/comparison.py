"""Systems on the same data, splits and seeds: ``python -m simulations.benchmarks.comparison --data-dir DIR``.

``systems`` has all systems at their default levels; ``levels`` what level `perturbed` costs some of them, tested on
true records. ``pansvm compare`` runs the same comparisons of whatever is named.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from simulations.benchmarks.results import (
    RESULTS,
    DataDir,
    Out,
    Table,
    in_parts,
    run_benchmark,
    write_results,
)
from simulations.comparison.plan import Plan
from simulations.comparison.run import line_of, run_case
from simulations.comparison.summary import frame, overview, summary
from simulations.comparison.workers import run_each

DATA = ("breast_cancer", "heart", "ionosphere", "diabetes")
STRATEGIES = (
    *("pan-svm", "dp-svm", "svm-ensemble", "svm-admm", "random-kernel", "ssvd", "mixture", "local-only"),
    *("fedavg:logistic", "central:svc", "central:nystroem", "central:naive-bayes"),
)
SPLITS = ("iid", "dirichlet:0.5")
REPEATS = 5

NINE = (
    *("heart", "diabetes", "australian", "liver-disorders", "ionosphere", "breast-cancer", "fourclass"),
    *("splice", "german.numer"),
)
LARGER = ("spambase", "a9a", "letter")
AT_LEVELS = {
    **dict.fromkeys((*NINE, "sonar"), ("pan-svm", "svm-ensemble", "svm-admm", "voted-wrapper")),
    **dict.fromkeys(LARGER, ("pan-svm", "svm-ensemble")),
}
NOISES = {"exact": (0.25,), "perturbed": (0.25, 0.5)}
"""At level `exact` the noise means nothing."""
FIGURES = ("runs", "failed", "accuracy", "accuracy_sd", "balanced_accuracy", "auc", "round_trips")
LEVEL_REPEATS = 10


def lines(
    data_dir: Path,
    data: Sequence[str] = DATA,
    strategies: Sequence[str] = STRATEGIES,
    repeats: int = REPEATS,
) -> list[dict[str, Any]]:
    """Return the mean figures of each system by split, over data sets and repeats; failed runs are counted."""
    plan = Plan(
        data=tuple(data),
        strategies=tuple(strategies),
        splits=SPLITS,
        aggregations=("ring",),
        repeats=repeats,
        seed=0,
        common={"data-dir": str(data_dir)},
        varied={"C": (10.0,)},
    )
    runs = runs_of(plan)
    return [
        {"split": split, "system": name, **{str(key): value for key, value in figures.dropna().items()}}
        for split in SPLITS
        for name, figures in overview(runs[runs["split"] == split]).iterrows()
    ]


def at_levels(
    data_dir: Path, data: str, strategies: Sequence[str], repeats: int, **settings: str
) -> Iterator[dict[str, Any]]:
    """Return the mean accuracy of systems on a data set at each level and noise; deviations are of a split."""
    for level, noises in NOISES.items():
        plan = Plan(
            data=(data,),
            strategies=tuple(strategies),
            splits=("iid",),
            aggregations=("ring",),
            repeats=repeats,
            seed=0,
            common={"data-dir": str(data_dir), "privacy": level, **settings},
            varied={"noise": noises},
        )
        for line in means_of(plan).to_dict("records"):
            yield {
                "data": data,
                "system": line["strategy"],
                "level": level,
                "noise": None if level == "exact" else float(line["settings"].removeprefix("noise=")),
                **figures_of(line, FIGURES),
            }


def figures_of(line: Mapping[Any, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return some figures of a line of `means_of`, ready for JSON; None where a mean of one run has no deviation."""
    return {name: None if isnan(line[name]) else line[name] for name in names}


def means_of(plan: Plan) -> pd.DataFrame:
    """Return the summary of a comparison."""
    return summary(runs_of(plan))


def runs_of(plan: Plan) -> pd.DataFrame:
    """Return the runs of a comparison, which are made on all processors."""
    plan.check()
    cases = plan.cases()
    # They end in any order.
    ended = sorted(run_each(cases, os.cpu_count() or 1, run_case), key=lambda pair: cases.index(pair[0]))
    return frame([line_of(case, result) for case, result in ended])


def main(data_dir: DataDir, out: Out = RESULTS) -> None:
    """Compare all systems, FedAvg and central baselines among them, and levels."""

    def of_data(data: str) -> Table:
        return list(at_levels(data_dir, data, AT_LEVELS[data], LEVEL_REPEATS))

    levels = in_parts("comparison", AT_LEVELS, of_data, out)
    write_results("comparison", {"systems": lines(data_dir), "levels": levels}, out)


if __name__ == "__main__":
    run_benchmark(main)
