"""What a run costs at a real SuperLink with hospitals' own SuperNodes.

``python -m simulations.benchmarks.deployment --data-dir DIR``: hospitals with drawn tables, and those of UCI Heart
Disease, whose figures are written into a file of their own.

All are on this machine, connected by TLS, as `pansvm demo` starts them. CPU seconds and memory are read from ``/proc``,
so this needs Linux. Hospitals are connected before the first run, and stay connected until the last one ends.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clients.deployment.node_file import set_key
from flower_pansvm.result_file import read_result
from flower_pansvm.terms import Scalar
from simulations.benchmarks import study_costs
from simulations.benchmarks.hospitals import HOSPITALS as HEART
from simulations.benchmarks.results import RESULTS, DataDir, Out, run_benchmark, write_results
from simulations.trial import SCHEMA, generated_tables, set_up, started_study
from strategies.deployment.superlink import checkout, train

HOSPITALS = (3, 10)
RUNS, COMPARED_RUNS = 20, 3
EARLIER = "aa2db2f5"
"""The commit before hospitals had a SuperNode of this project; `compared` runs it beside."""

SETTINGS: Mapping[str, Scalar] = {
    "strategy": "pan-svm",
    "privacy": "perturbed",
    "noise": 0.5,
    "landmarks": "20",
    "tol": 0.01,
}
SYSTEMS: Mapping[str, Mapping[str, Scalar]] = {
    "pan-svm": {"strategy": "pan-svm", "privacy": "perturbed", "noise": 0.5},
    "dp-svm": {"strategy": "dp-svm"},
}
"""Settings for the four heart hospitals, all others as they are without a choice."""

HEART_RUNS = 3
RANGES = {
    **{"age": (0, 120), "sex": (0, 1), "cp": (1, 4), "trestbps": (0, 250), "chol": (0, 700), "fbs": (0, 1)},
    **{"restecg": (0, 2), "thalach": (40, 220), "exang": (0, 1), "oldpeak": (-4, 8), "slope": (1, 3)},
    **{"ca": (0, 3), "thal": (3, 7)},
}
HEART_SCHEMA = "classes = [0, 1, 2, 3, 4]\npositive = [1, 2, 3, 4]\n" + "".join(
    f"columns.{name}.range = [{low}, {high}]\n" for name, (low, high) in RANGES.items()
)


def lines(hospitals: int, runs: int = RUNS) -> Iterator[dict[str, Any]]:
    """Yield the costs of each of so many runs, one after the other, of a study of so many hospitals."""
    with tempfile.TemporaryDirectory() as name:
        tables = generated_tables(Path(name), hospitals)
        for line in _runs(Path(name), tables, SETTINGS, SCHEMA, runs):
            yield {"hospitals": hospitals, **line}


def heart(data_dir: Path, runs: int = HEART_RUNS) -> Iterator[dict[str, Any]]:
    """Yield the costs of each of so many runs of each system at the four heart hospitals."""
    tables = {name: (data_dir / f"heart-{name}.csv.gz").absolute() for name in HEART}
    for system, settings in SYSTEMS.items():
        with tempfile.TemporaryDirectory() as name:
            for line in _runs(Path(name), tables, settings, HEART_SCHEMA, runs):
                yield {"system": system, **line}


def _runs(
    folder: Path, tables: Mapping[str, Path], settings: Mapping[str, Scalar], schema: str, runs: int
) -> Iterator[dict[str, Any]]:
    """Yield the costs of each run of a study of hospitals with these tables."""
    coordinator, _ = set_up(folder, tables, settings, schema)
    for hospital in tables:
        set_key(folder / hospital, "epsilon", 2.0 * runs)  # a budget for all of them
    with started_study(folder, tables):
        yield from study_costs.lines(
            folder, tables, runs, lambda out: read_result(train(coordinator, out, lambda _: None))
        )


def compared(hospitals: int, runs: int = COMPARED_RUNS) -> Iterator[dict[str, Any]]:
    """Yield the costs of runs with an earlier commit's SuperNodes, which were Flower's, and with this one's."""
    root = checkout()
    with tempfile.TemporaryDirectory() as name:
        old = Path(name) / "old"
        git = ["git", "-C", str(root), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(old), EARLIER], check=True)
        try:
            for commit, tree in ((EARLIER, old), ("this", root)):
                folder = Path(name) / f"study-{commit}"
                folder.mkdir()
                command = [sys.executable, "-P", study_costs.__file__, str(folder), str(hospitals), str(runs)]
                # Only where it is installed from is another tree behind that of the variable.
                environment = {**os.environ, "PYTHONPATH": str(tree)}
                done = subprocess.run(
                    [*command, json.dumps(SETTINGS)],
                    cwd=tree,
                    env=environment,
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                for line in done.stdout.splitlines():
                    yield {"commit": commit, "hospitals": hospitals, **json.loads(line)}
        finally:
            subprocess.run([*git, "remove", "--force", str(old)], check=True)


def main(data_dir: DataDir, out: Out = RESULTS) -> None:
    """Measure the four heart hospitals, and studies of three and of ten hospitals."""
    write_results("deployment_heart", {"runs": list(heart(data_dir))}, out)
    tables = {
        name: [line for count in HOSPITALS for line in measure(count)]
        for name, measure in {"compared": compared, "runs": lines}.items()
    }
    write_results("deployment", tables, out)


if __name__ == "__main__":
    run_benchmark(main)
