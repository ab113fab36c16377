"""All sites' rows in one place: what a central implementation would work on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.svm import SVC

from clients.budget import new_ledger
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.schema import Schema
from simulations.data.pooling import PooledRows, pooled
from simulations.engines.in_process import InProcessGrid, in_process_grid
from strategies.federation.federation import Federation
from strategies.master.progress import Progress
from strategies.registry import STRATEGIES
from strategies.settings import Settings
from strategies.steps.joining import join
from tests.conftest import write_hospitals

Matrix = NDArray[np.float64]


class Pooled(PooledRows):
    """Rows of all sites, one site after the other."""

    def mapped(self, model: PanSVC) -> NDArray[np.float64]:
        """Return the rows as virtual points of a model's feature map."""
        return model.feature_map_.transform(model.scaling_.transform(self.X))


RANGES = "[columns.dose]\nrange = [-0.02, 0.02]\n[columns.age]\nrange = [30, 90]\n"


def trained(settings: Settings, grid: InProcessGrid | None = None) -> Any:
    """Return the strategy of the settings after its run, with simulated sites where no grid is given."""
    strategy = STRATEGIES[settings.strategy](settings)
    strategy.start(grid or in_process_grid(settings))
    return strategy


def joined(settings: Settings) -> Federation:
    """Return a federation of simulated sites that have joined, and nothing else."""
    federation = Federation(in_process_grid(settings), settings)
    join(federation, settings)
    return federation


def svc_of(settings: Any) -> SVC:
    """Return scikit-learn's SVM with the settings of a run."""
    return SVC(
        C=settings.C,
        kernel=settings.kernel,
        gamma=settings.gamma,
        class_weight="balanced" if settings.class_weight == "balanced" else None,
    )


def check_against_svc(state: Progress, F: Matrix, y: Matrix, weights: Matrix, tol: float = 1e-3) -> None:
    """Check the bounds of a problem against LIBSVM on the same mapped rows with the same weights."""
    C = state.problem.C
    svc = SVC(kernel="linear", C=C, tol=1e-4).fit(F, y, sample_weight=weights)
    w, b = svc.coef_[0], svc.intercept_[0]
    best = 0.5 * w @ w + C * weights @ np.maximum(0.0, 1.0 - y * (F @ w + b))
    assert state.lower <= best * (1 + 1e-6)
    assert state.upper <= best * (1 + tol)


@pytest.fixture
def pool() -> Callable[..., Pooled]:
    """Return a function that pools the training rows of a run, or its test rows."""

    def pool(settings: Settings, schema: Schema, *, test: bool = False) -> Pooled:
        found = pooled(settings)
        assert found.schema == schema
        rows = found.test if test else found.train
        return Pooled(rows.X, rows.classes, rows.folds, rows.sites, rows.patients)

    return pool


@pytest.fixture
def write_table(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes rows to a CSV file and returns its path, the setting ``data``."""

    def write(X: NDArray[np.float64], y: NDArray[np.int64], name: str = "table") -> str:
        path = tmp_path / f"{name}.csv"
        frame = pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])
        frame.assign(label=y).to_csv(path, index=False)
        return str(path)

    return write


@pytest.fixture
def write_with_ranges(tmp_path: Path, state_home: Path) -> Callable[[int], list[Path]]:
    """Return a function that writes tables of three hospitals with so many rows, and `RANGES` to ``ranges.toml``.

    Each has begun its ledger.
    """

    def write(rows: int) -> list[Path]:
        for number in range(3):
            new_ledger(state_home / f"site-hospital{number}", 0.2)
        (tmp_path / "ranges.toml").write_text(RANGES)
        return write_hospitals(tmp_path, rows)

    return write
