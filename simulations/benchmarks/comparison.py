"""All systems on the same data, splits and seeds: ``python -m simulations.benchmarks.comparison --data-dir DIR``.

``pansvm compare`` runs the same comparison of whatever is named.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simulations.benchmarks.results import RESULTS, DataDir, Out, run_benchmark, write_results
from simulations.comparison.plan import Plan
from simulations.comparison.summary import frame, overview, summary
from simulations.comparison.workers import run_all

DATA = ("breast_cancer", "heart", "ionosphere", "diabetes")
STRATEGIES = (
    *("pan-svm", "dp-svm", "svm-ensemble", "svm-admm", "random-kernel", "ssvd", "mixture", "local-only"),
    *("fedavg:logistic", "central:svc", "central:nystroem", "central:naive-bayes"),
)
SPLITS = ("iid", "dirichlet:0.5")
REPEATS = 5


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
    plan.check()
    means = summary(frame(list(run_all(plan.cases(), os.cpu_count() or 1))))
    found = []
    for split in SPLITS:
        own = means[means["split"] == split]
        failed = own.groupby("strategy")["failed"].sum()
        for name, figures in overview(own).iterrows():
            known = {str(key): value for key, value in figures.dropna().items()}
            found.append({"split": split, "system": name, "failed": int(failed[str(name)]), **known})
    return found


def main(data_dir: DataDir, out: Out = RESULTS) -> None:
    """Compare all systems, FedAvg and central baselines among them."""
    write_results("comparison", {"systems": lines(data_dir)}, out)


if __name__ == "__main__":
    run_benchmark(main)
