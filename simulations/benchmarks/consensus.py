"""Round trips and bytes to one objective: consensus by ADMM beside cutting planes (Lu 2016, Tables 3.4 and 3.5).

``python -m simulations.benchmarks.consensus --data-dir DIR`` prints a line of the table as soon as it is known. All
sites run in this process. The objective to compare with is that of scikit-learn's SVC on the same mapped rows of all.
ADMM is stopped as soon as it is near enough, which only such a reference can tell, or after `MOST` round trips.
"""

import contextlib
import logging
import sys
from collections.abc import Iterator
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from sklearn.svm import SVC

from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.tasks.consensus import CONSENSUS
from flower_pansvm.tasks.task import Task
from simulations.data.pooling import pooled
from simulations.engines.flower_log import quieter
from simulations.engines.running import in_process_grid
from strategies.federation.costs import Costs
from strategies.pan_svm import PanSVM
from strategies.settings import Settings, make_settings
from strategies.svm_admm import SvmAdmm

GAP, MOST = 1e-3, 500
SETS: dict[str, dict[str, object]] = {
    "fourclass": {"C": 8.0, "gamma": 2.0},
    "diabetes": {"C": 512.0, "gamma": 2.0**-7},
}
"""Those of Tables 3.4 and 3.5, with C and gamma of Table 3.1 but for fourclass, whose gamma there is a misprint."""

SITES = (5, 10, 20)
SPLITS = {"fourclass": ("iid", "feature:f1"), "diabetes": ("iid", "feature:pregnant")}
"""The same distribution, and a different one: by the first feature."""

PENALTIES: dict[str, dict[str, object]] = {
    "svm-admm": {},
    "svm-admm, rho=10 throughout": {"rho": 10.0, "adaptive_rho": False},
}
SEARCHES: dict[str, dict[str, object]] = {
    "pan-svm, private": {},
    "pan-svm, exact": {"preset": "exact"},
    "pan-svm, exact, blur=0": {"preset": "exact", "blur": 0},
    "pan-svm, exact, blur=0, curvature=0, points=3": {
        "preset": "exact",
        "blur": 0,
        "curvature": 0.0,
        "points": 3,
    },
}
"""The last two ask for sums of every row as it is, as the paper's search and ADMM do; the last for few numbers."""

COLUMNS = ("sites", "data", "split", "strategy", "gap", "round trips", "MB up", "MB down")


class Central:
    """The objective of a model of two classes on the rows of all sites, and how low SVC gets it on the same map."""

    def __init__(self, settings: Settings, model: PanSVC) -> None:
        rows = pooled(settings).train
        self.C = float(settings.to_config()["C"])
        self.F = model.feature_map_.transform(model.scaling_.transform(rows.X))
        self.y = np.where(rows.classes == 1, 1.0, -1.0)
        svc = SVC(kernel="linear", C=self.C, tol=1e-6, cache_size=500).fit(self.F, self.y)
        self.lowest = self._objective(np.append(svc.coef_[0], svc.intercept_[0]))

    def gap(self, point: NDArray[np.float64]) -> float:
        """Return by what share the objective of a point (weights, bias) is above SVC's."""
        return self._objective(point) / self.lowest - 1.0

    def _objective(self, point: NDArray[np.float64]) -> float:
        w, b = point[:-1], point[-1]
        return float(0.5 * w @ w + self.C * np.maximum(0.0, 1.0 - self.y * (self.F @ w + b)).sum())


class EnoughError(Exception):
    """The point is near enough, or the patience is over."""


class Watcher:
    """In place of a run's transcript: looks at ADMM's points as they are asked, and ends the run."""

    def __init__(self, central: Central) -> None:
        self.central = central
        self.gap, self.steps = np.inf, 0

    def add_told(self, *_: object) -> None:
        """Take no note of a broadcast."""

    def add_sum(self, task: Task[Any, Any], question: Any, *_: object) -> None:
        """Look at the point of a step, which is what the step before has brought."""
        if task is CONSENSUS:
            self.steps += 1
            self.gap = self.central.gap(question.z[-1, 0])
            if self.gap <= GAP or self.steps >= MOST:
                raise EnoughError


def lines(data_dir: Path) -> Iterator[list[str]]:
    """Yield the lines of the table."""
    dealt = [(data, split) for data, splits in SPLITS.items() for split in splits]
    for sites, (data, split) in product(SITES, dealt):
        chosen = {"data": data, "split": split, "sites": sites, "data_dir": str(data_dir)}
        common: dict[str, Any] = {**chosen, "scaling": "minmax", **SETS[data]}
        for name, search in SEARCHES.items():
            settings = make_settings(**common, **search)
            trained = PanSVM(settings)
            trained.start(in_process_grid(settings))
            model, central = trained.model, Central(settings, trained.model)
            gap = central.gap(np.append(model.coef_[0], model.intercept_[0]))
            yield _line(common, name, gap, trained.federation.costs)
        # The landmarks of the last run are those of these.
        for name, penalty in PENALTIES.items():
            settings = make_settings(strategy="svm-admm", preset="exact", **common, **penalty)
            watcher = Watcher(central)
            rival = SvmAdmm(settings, transcript=watcher)  # type: ignore[arg-type]
            with contextlib.suppress(EnoughError):
                rival.start(in_process_grid(settings))
            yield _line(common, name, watcher.gap, rival.federation.costs)


def _line(common: dict[str, Any], strategy: str, gap: float, costs: Costs) -> list[str]:
    megabytes = (f"{sent / 1e6:.1f}" for sent in (costs.bytes_up, costs.bytes_down))
    run = (str(common[name]) for name in ("sites", "data", "split"))
    return [*run, strategy, f"{gap:.1e}", str(costs.round_trips), *megabytes]


def main(data_dir: Annotated[Path, typer.Option(help="Folder of data sets.")]) -> None:
    """Print a Markdown table."""
    for line in chain([COLUMNS, ["---"] * len(COLUMNS)], lines(data_dir)):
        sys.stdout.write(f"| {' | '.join(line)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    with quieter(logging.ERROR):
        typer.run(main)
