"""Training on large tables beside central solvers: ``python -m simulations.benchmarks large_tables --data-dir DIR``.

Every contestant has its own process, the same rows, C, gamma and number of landmarks. Five sites are in one process.
"""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flower_pansvm.terms import Scalar
from simulations.baselines.registry import BASELINES
from simulations.benchmarks.results import accuracy_of, in_new_process, pool_of, timed
from simulations.engines.in_process import train_in_process
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import settings_from
from strategies.svm_settings import PanSvmSettings


@dataclass(frozen=True)
class LargeTable:
    """A data set and the settings that all contestants train with."""

    # The run config. Without ``data`` the rows are generated.
    config: Mapping[str, Scalar] = field(default_factory=dict)
    test: str = ""  # data set to test on; else a fifth of the rows


SETS = {
    "a9a": LargeTable({"data": "a9a", "landmarks": "300", "gamma": "0.05", "scaling": "none"}, "a9a.t"),
    "ijcnn1-like": LargeTable({"landmarks": "1000", "C": "32", "gamma": str(1 / 22)}),
    "cod-rna": LargeTable(
        {"data": "cod-rna.scaled", "landmarks": "1000", "C": "32", "gamma": "0.5", "scaling": "none"}
    ),
    "letter": LargeTable({"data": "letter", "landmarks": "1000", "C": "10", "gamma": "0.0625"}, "letter.t"),
}
CONTESTANTS = ("exact", "perturbed", "central:nystroem", "central:svc")


def write_ijcnn1_like(file: Path, rows: int = 40_000) -> None:
    """Generate rows of the shape of ijcnn1: 22 columns, a rare class of six of sixty clouds, 1 % wrong labels."""
    generator = np.random.default_rng(0)
    centres, groups = generator.normal(size=(60, 22)), generator.integers(0, 60, rows)
    X = centres[groups] + 0.5 * generator.normal(size=(rows, 22))
    y = (groups < 6) ^ (generator.random(rows) < 0.01)
    pd.DataFrame(X, columns=[f"x{i}" for i in range(22)]).assign(label=y.astype(int)).to_csv(
        file, index=False
    )


def train(table: LargeTable, contestant: str, data_dir: Path) -> dict[str, Any]:
    """Train one contestant in this process; reading the table is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        config: dict[str, Scalar] = {"data-dir": str(data_dir), "sites": 5, **table.config}
        if "data" not in config:
            config["data"] = str(Path(folder) / "rows.csv")
            write_ijcnn1_like(Path(folder) / "rows.csv")
        settings = settings_from({**config, "test-fraction": 0.0 if table.test else 0.2})
        assert isinstance(settings, PanSvmSettings)
        rows = pool_of(settings, table.test)
        if contestant in BASELINES:
            work = partial(BASELINES[contestant], settings, rows.train, rows.test)
            central, used = timed(work)
            return {**used, "accuracy": central.evaluation.accuracy, "converged": central.converged}
        settings = replace(settings, privacy=contestant)
        strategy, used = timed(lambda: train_in_process(settings))
        assert isinstance(strategy, PanSVM)
        return {
            **used,
            "megabytes_up": strategy.federation.costs.bytes_up / 1e6,
            "rounds": max(state.rounds for state in strategy.training.progress),
            "accuracy": accuracy_of(strategy.model, rows),
        }


def lines(data_dir: Path) -> Iterator[dict[str, Any]]:
    """Yield time, memory, bytes and accuracy on large tables, one contestant after the other."""
    for name, table in SETS.items():
        for contestant in CONTESTANTS:
            used = in_new_process(train, table, contestant, data_dir)
            yield {"data": name, "system": contestant, **used}


TABLES = {"contestants": lines}
