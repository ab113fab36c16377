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
import pandas as pd
from matplotlib.figure import Figure

from simulations.benchmarks.tables import markdown
from simulations.data.sites import join_data
from simulations.engines.running import train_in_process
from strategies.pan_svm import PanSVM
from strategies.pan_svm_settings import PanSvmSettings

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


class Size(NamedTuple):
    """One training run."""

    rows: int
    sites: int
    landmarks: int
    features: int
    classes: int
    seconds: float
    peak_gigabytes: float
    megabytes: float
    cut_rounds: int
    accuracy: float


def measure(
    show: Callable[[str], None], series: Mapping[str, Sequence[int]] = SERIES
) -> dict[str, list[Size]]:
    """Let one of rows, sites, landmarks, features and classes grow at a time; each run in a process of its own."""
    found: dict[str, list[Size]] = {}
    for what, values in series.items():
        for value in values:
            size = _in_new_process({**BASE, what: value})
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
        header = [what, "seconds", "peak GB", "MB sent", "cutting-plane rounds", "test accuracy, %"]
        parts.append(markdown(header, rows))
    return "\n".join(parts)


PLOTTED = {"seconds": "seconds", "peak_gigabytes": "peak GB", "megabytes": "MB from all sites"}


def plot(found: Mapping[str, Sequence[Size]], file: Path) -> None:
    """Plot seconds, memory and bytes against each of the sizes; all sites are in one process."""
    figure = Figure(figsize=(3 * len(found), 2.4 * len(PLOTTED)), layout="constrained")
    panels = figure.subplots(len(PLOTTED), len(found), squeeze=False, sharey="row", sharex="col")
    for line, (figure_of, label) in zip(panels, PLOTTED.items(), strict=True):
        line[0].set_ylabel(label)
        for axes, (what, sizes) in zip(line, found.items(), strict=True):
            values = [getattr(size, what) for size in sizes]
            axes.loglog(values, [getattr(size, figure_of) for size in sizes], marker="o")
            axes.set_xticks(values, labels=[f"{value:,}" for value in values])
            axes.minorticks_off()
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
    for axes, what in zip(panels[-1], found, strict=True):
        axes.set_xlabel(what)
    figure.savefig(file, dpi=130)


def generate(folder: Path, rows: int, sites: int, features: int, classes: int = 2) -> list[str]:
    """Write one Parquet file per site, and return their paths: classes of overlapping clouds."""
    generator = np.random.default_rng(0)
    centres = 1.2 * generator.normal(size=(GROUPS, features))
    files = []
    for site in range(sites):
        groups = generator.integers(0, GROUPS, rows // sites)
        X = centres[groups] + generator.normal(size=(len(groups), features))
        frame = pd.DataFrame(X, columns=[f"x{number}" for number in range(features)])
        frame["label"] = groups % classes
        frame.to_parquet(folder / f"site-{site}.parquet")
        files.append(str(folder / f"site-{site}.parquet"))
    return files


def run_one(*, rows: int, sites: int, landmarks: int, features: int, classes: int) -> Size:
    """Generate rows and train on them in this process."""
    with tempfile.TemporaryDirectory() as name:
        files = generate(Path(name), rows, sites, features, classes)
        settings = PanSvmSettings(data=join_data(files), sites=sites, landmarks=landmarks)
        started = time.perf_counter()
        strategy = train_in_process(settings)
        assert isinstance(strategy, PanSVM)
        seconds = time.perf_counter() - started
    return Size(
        rows,
        sites,
        landmarks,
        features,
        classes,
        seconds,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        strategy.federation.costs.bytes_up / 1e6,
        max(state.rounds for state in strategy.training.progress),
        strategy.evaluation.accuracy or 0.0,
    )


def _in_new_process(size: Mapping[str, int]) -> Size:
    """Run one size in a process of its own, so that its peak of memory is its own."""
    done = subprocess.run(
        [sys.executable, "-m", "simulations.benchmarks.sizes", json.dumps(size)],
        check=True,
        capture_output=True,
    )
    return Size(*json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_one(**json.loads(sys.argv[1]))) + "\n")
