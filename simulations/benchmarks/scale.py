"""How training grows with rows and with sites, on generated rows: ``python -m simulations.benchmarks.scale``.

Every run has its own process. Rows at a site are the same however many sites there are, so that a site's work is too.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flower_pansvm.terms import Scalar
from simulations.benchmarks.results import (
    RESULTS,
    Out,
    in_new_process,
    run_benchmark,
    timed,
    write_results,
)
from simulations.data.sites import join_data
from simulations.engines.running import in_process_grid
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


def main(out: Out = RESULTS) -> None:
    """Measure runs with many rows and with many sites."""
    by_rows = [
        in_new_process(train, rows, 10, 20, landmarks=200, privacy=level)
        for level in ("perturbed", "exact")
        for rows in ROWS
    ]
    by_sites = [
        in_new_process(train, ROWS_AT_A_SITE * sites, sites, 10, landmarks=100, aggregation=protocol)
        for protocol in PROTOCOLS
        for sites in SITES
    ]
    write_results("scale", {"rows": by_rows, "sites": by_sites}, out)


if __name__ == "__main__":
    run_benchmark(main)
