"""What PAN-SVM owes to its landmarks: ``python -m simulations.benchmarks ablation --data-dir DIR``.

The same linear SVM on maps of as many features: PAN-SVM's, of k-means at each site and then of all centres; k-means of
all rows in one place; rows drawn at random; random Fourier features. PAN-SVM also with smaller clusters, and with the
search as published.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simulations.benchmarks.comparison import means_of
from simulations.comparison.plan import Plan

DATA = ("breast_cancer", "diabetes", "ionosphere", "spambase")
LANDMARKS = (10, 20, 50, 100)
MAPS = ("pan-svm", "central:nystroem", "central:random-rows", "central:fourier")
CHANGED: dict[str, dict[str, Any]] = {
    "min-cluster=1": {"min-cluster": (1,)},
    "published": {"search": ("published",)},
}
REPEATS = 10
FIGURES = ("accuracy", "accuracy_sd", "round_trips", "runs", "failed")


def lines(
    data_dir: Path, data: tuple[str, ...] = DATA, repeats: int = REPEATS, cluster: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield the mean accuracy of each map on each data set, by number of landmarks."""
    for changed, strategies in {"": MAPS, **dict.fromkeys(CHANGED, ("pan-svm",))}.items():
        plan = Plan(
            data=data,
            strategies=strategies,
            repeats=repeats,
            common={"data-dir": str(data_dir), "privacy": "exact", "C": "10"},
            varied={"landmarks": tuple(map(str, LANDMARKS)), **CHANGED.get(changed, {})},
        )
        for line, figures in means_of(plan, FIGURES, cluster):
            yield {
                "data": line["data"],
                "system": f"{line['strategy']} {changed}".strip(),
                "landmarks": int(line["settings"].removeprefix("landmarks=")),
                **figures,
            }


TABLES = {"maps": lines}
