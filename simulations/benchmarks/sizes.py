"""How time, memory and bytes grow with rows, sites, landmarks, features and classes, on generated rows."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, StrMethodFormatter

from flower_pansvm.terms import Scalar
from simulations.benchmarks.silence import SilentGrid
from simulations.data.sites import join_data
from simulations.engines.running import in_process_grid
from simulations.markdown import markdown
from strategies.pan_svm import PanSVM
from strategies.settings import make_settings

BASE = {"rows": 100_000, "sites": 10, "landmarks": 200, "features": 20, "classes": 2}
SERIES: Mapping[str, Sequence[int]] = {
    "rows": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "sites": (3, 5, 10, 20),
    "landmarks": (50, 100, 200, 400, 800),
    "features": (5, 20, 80, 320),
    "classes": (2, 5, 10, 26),
}
GROUPS = 30
"""Clouds of rows that the two classes consist of."""

ROW_GROUP = 2**16  # rows of a Parquet file's row group


class Size(NamedTuple):
    """One training run."""

    rows: int
    sites: int
    landmarks: int
    features: int
    classes: int
    seconds: float
    peak_gigabytes: float
    cut_rounds: int
    accuracy: float
    processor_seconds: float
    round_trips: int  # with those that were repeated without a site that had fallen silent
    megabytes: float  # to all sites and from them
    lost: int  # sites that have fallen silent
    cut_megabytes: float  # of `megabytes`, those of the cutting planes


def measure(
    show: Callable[[str], None], series: Mapping[str, Sequence[int]] = SERIES
) -> dict[str, list[Size]]:
    """Let one of rows, sites, landmarks, features and classes grow at a time; each run in a process of its own."""
    found: dict[str, list[Size]] = {}
    for what, values in series.items():
        for value in values:
            size = in_new_process({**BASE, what: value})
            found.setdefault(what, []).append(size)
            show(
                f"{what} {value:,}: {size.seconds:.1f} s, {size.peak_gigabytes:.2f} GB, {size.cut_rounds} rounds"
            )
    return found


def markdown_of(found: Mapping[str, Sequence[Size]]) -> str:
    """Return a table for each series."""
    parts = []
    for what, sizes in found.items():
        rows = [
            [
                f"{getattr(size, what):,}",
                f"{size.seconds:.1f}",
                f"{size.peak_gigabytes:.2f}",
                f"{size.megabytes:,.0f}",
                str(size.cut_rounds),
                f"{100 * size.accuracy:.2f}",
            ]
            for size in sizes
        ]
        header = [what, "seconds", "peak GB", "MB, both ways", "cutting-plane rounds", "test accuracy, %"]
        parts.append(markdown(header, rows))
    return "\n".join(parts)


PLOTTED = {"seconds": "seconds", "peak_gigabytes": "peak GB", "megabytes": "MB, both ways"}


def plot(found: Mapping[str, Sequence[Size]], file: Path) -> None:
    """Plot seconds, memory and bytes against each of the sizes; all sites are in one process."""
    figure = Figure(figsize=(3 * len(found), 2.4 * len(PLOTTED)), layout="constrained")
    panels = figure.subplots(len(PLOTTED), len(found), squeeze=False, sharey="row", sharex="col")
    for line, (figure_of, label) in zip(panels, PLOTTED.items(), strict=True):
        line[0].set_ylabel(label)
        for axes, (what, sizes) in zip(line, found.items(), strict=True):
            values = [getattr(size, what) for size in sizes]
            axes.loglog(values, [getattr(size, figure_of) for size in sizes], marker="o")
            axes.set_xticks(values)
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # 300k, 1M
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.minorticks_off()
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
    for axes, what in zip(panels[-1], found, strict=True):
        axes.set_xlabel(what)
    figure.savefig(file, dpi=130)


def generate(folder: Path, rows: int, sites: int, features: int, classes: int = 2) -> list[str]:
    """Write one Parquet file per site, and return their paths: classes of overlapping clouds.

    A row group at a time, so that many rows take no memory here.
    """
    generator = np.random.default_rng(0)
    centres = 1.2 * generator.normal(size=(GROUPS, features))
    names = [*(f"x{number}" for number in range(features)), "label"]
    kinds = pa.schema([*((name, pa.float64()) for name in names[:-1]), ("label", pa.int64())])
    files = []
    for site in range(sites):
        files.append(str(folder / f"site-{site}.parquet"))
        with pq.ParquetWriter(files[-1], kinds) as writer:
            for start in range(0, rows // sites, ROW_GROUP):
                groups = generator.integers(0, GROUPS, min(ROW_GROUP, rows // sites - start))
                X = centres[groups] + generator.normal(size=(len(groups), features))
                writer.write_table(pa.table([*X.T, groups % classes], schema=kinds))
    return files


def run_one(
    *,
    rows: int,
    sites: int,
    landmarks: int,
    features: int,
    classes: int = 2,
    silent: float = 0.0,
    **settings: Scalar,
) -> Size:
    """Generate rows and train on them in this process; ``silent`` is the share of the sites that fall silent."""
    with tempfile.TemporaryDirectory() as name:
        files = generate(Path(name), rows, sites, features, classes)
        made = make_settings(data=join_data(files), sites=sites, landmarks=landmarks, **settings)
        started, worked = time.perf_counter(), time.process_time()
        strategy = PanSVM(made)
        strategy.start(SilentGrid(made, silent) if silent else in_process_grid(made))
        seconds, worked = time.perf_counter() - started, time.process_time() - worked
    costs = strategy.federation.costs
    return Size(
        rows,
        sites,
        landmarks,
        features,
        classes,
        seconds,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        max(state.rounds for state in strategy.training.progress),
        strategy.evaluation.accuracy or 0.0,
        worked,
        costs.round_trips,
        (costs.bytes_up + costs.bytes_down) / 1e6,
        len(costs.dropped),
        sum(costs.added["cutting planes"][way] for way in ("bytes_up", "bytes_down")) / 1e6,
    )


def in_new_process(size: Mapping[str, Scalar]) -> Size:
    """Run one size in a process of its own, so that its peak of memory is its own."""
    done = subprocess.run(
        [sys.executable, "-m", "simulations.benchmarks.sizes", json.dumps(size)],
        check=True,
        capture_output=True,
    )
    return Size(*json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_one(**json.loads(sys.argv[1]))) + "\n")
