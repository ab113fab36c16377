"""How unlike hospitals may be: ``python -m simulations.benchmarks heterogeneity --data-dir DIR``.

The same systems on the same data over five sites of which each has another mix of classes, or another number of rows.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simulations.benchmarks.comparison import means_of
from simulations.comparison.plan import Plan

DATA = ("breast_cancer", "heart", "ionosphere", "diabetes")
STRATEGIES = (
    *("pan-svm", "svm-admm", "svm-ensemble", "local-only"),
    *("fedavg:logistic", "scaffold:logistic", "fedxgb:bagging", "central:svc"),
)
SPLITS = ("iid", "quantity:0.5:30", *(f"dirichlet:{alpha}:5" for alpha in (10, 1, 0.3, 0.1)))
"""Each site has five rows of each class at the least, without which no system could test it."""

REPEATS = 10
FIGURES = ("accuracy", "balanced_accuracy", "round_trips", "runs", "failed")


def lines(
    data_dir: Path, data: tuple[str, ...] = DATA, repeats: int = REPEATS, cluster: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield the mean figures of each system on each data set and split."""
    plan = Plan(
        data=data,
        strategies=STRATEGIES,
        splits=SPLITS,
        repeats=repeats,
        common={"data-dir": str(data_dir), "privacy": "exact"},
        varied={"C": (10.0,)},
    )
    for line, figures in means_of(plan, FIGURES, cluster):
        yield {"data": line["data"], "split": line["split"], "system": line["strategy"], **figures}


TABLES = {"splits": lines}
