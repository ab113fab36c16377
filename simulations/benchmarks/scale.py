"""How training grows with rows and with sites, on generated rows: ``python -m simulations.benchmarks scale``.

Every run has its own process. Rows at a site are the same however many sites there are, so that a site's work is too.
"""

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flower_pansvm.terms import Scalar
from simulations.benchmarks.results import in_new_process, timed
from simulations.data.sites import join_data
from simulations.engines.in_process import in_process_grid
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import make_settings

ROWS = (1_000_000, 10_000_000)
SITES = (10, 50, 200, 1000)
PROTOCOLS = ("ring", "k-secure")
ROWS_AT_A_SITE = 200

CLOUDS = 30
"""Clouds of rows of which the classes consist."""

ROW_GROUP = 2**16  # rows of a Parquet file's row group


def generate(folder: Path, rows: int, sites: int, features: int) -> list[str]:
    """Write a Parquet file for each site, and return their paths: two classes of overlapping clouds.

    A row group at a time, so that many rows take no memory here.
    """
    generator = np.random.default_rng(0)
    centres = 1.2 * generator.normal(size=(CLOUDS, features))
    names = [*(f"x{index}" for index in range(features)), "label"]
    kinds = pa.schema([*((name, pa.float64()) for name in names[:-1]), ("label", pa.int64())])
    files = []
    for site in range(sites):
        files.append(str(folder / f"site-{site}.parquet"))
        with pq.ParquetWriter(files[-1], kinds) as writer:
            for start in range(0, rows // sites, ROW_GROUP):
                groups = generator.integers(0, CLOUDS, min(ROW_GROUP, rows // sites - start))
                X = centres[groups] + generator.normal(size=(len(groups), features))
                writer.write_table(pa.table([*X.T, groups % 2], schema=kinds))
    return files


def train(rows: int, sites: int, features: int, **config: Scalar) -> dict[str, Any]:
    """Generate rows and train on them in this process."""
    with tempfile.TemporaryDirectory() as name:
        files = generate(Path(name), rows, sites, features)
        strategy = PanSVM(make_settings(data=join_data(files), sites=sites, **config))
        _, used = timed(lambda: strategy.start(in_process_grid(strategy.settings)))
    costs = strategy.federation.costs
    return {
        "rows": rows,
        "sites": sites,
        **config,
        **used,
        "rounds": max(state.rounds for state in strategy.training.progress),
        "round_trips": costs.round_trips,
        "megabytes": (costs.bytes_up + costs.bytes_down) / 1e6,
        "accuracy": strategy.evaluation.accuracy,
    }


def by_rows() -> Iterator[dict[str, Any]]:
    """Yield the figures of runs with many rows."""
    for level, rows in product(("perturbed", "exact"), ROWS):
        yield in_new_process(train, rows, 10, 20, landmarks=200, privacy=level)


def by_sites() -> Iterator[dict[str, Any]]:
    """Yield the figures of runs with many sites."""
    for protocol, sites in product(PROTOCOLS, SITES):
        rows = ROWS_AT_A_SITE * sites
        yield in_new_process(train, rows, sites, 10, landmarks=100, aggregation=protocol)


TABLES = {"rows": by_rows, "sites": by_sites}
