"""Each of four heart hospitals left out in turn: ``python -m simulations.benchmarks hospitals --data-dir DIR``.

The model of the other three is evaluated on all patients of the one: `pansvm compare --leave-out` does the same with
any files. The hospitals are those of UCI Heart Disease; any disease counts as positive.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simulations.benchmarks.comparison import means_of
from simulations.comparison.plan import Plan
from strategies.settings import SEPARATOR

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
STRATEGIES = (
    *("pan-svm", "dp-svm", "fedavg:logistic", "fedprox:logistic", "scaffold:logistic", "fedavg:network"),
    *("scaffold:network", "dp-fedavg:logistic", "central:svc", "central:nystroem", "central:boosting"),
)
LEVELS = {"exact": 0.25, "perturbed": 0.5}
REPEATS = 10
FIGURES = ("accuracy", "accuracy_sd", "balanced_accuracy", "auc", "rows_train", "rows_test", "runs", "failed")


def lines(
    data_dir: Path, strategies: tuple[str, ...] = STRATEGIES, repeats: int = REPEATS, cluster: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield the mean figures of each system on each hospital, over seeds."""
    for level, noise in LEVELS.items():
        plan = Plan(
            data=(SEPARATOR.join(f"heart-{name}" for name in HOSPITALS),),
            # Only the sums of PAN-SVM are of copies at level perturbed.
            strategies=strategies if level == "exact" else ("pan-svm",),
            repeats=repeats,
            common={"data-dir": str(data_dir), "positive": "1,2,3,4", "privacy": level, "noise": noise},
            varied={},
            leave_out=True,
        )
        for line, figures in means_of(plan, FIGURES, cluster):
            hospital = str(line["split"]).removeprefix("tested on heart-")
            yield {"hospital": hospital, "system": line["strategy"], "level": line["level"], **figures}


TABLES = {"left_out": lines}
