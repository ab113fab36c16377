"""What a run costs at a real SuperLink with hospitals' own SuperNodes.

``python -m simulations.benchmarks.deployment --data-dir DIR``: hospitals with drawn tables, and those of UCI Heart
Disease, whose figures are written into a file of their own.

All are on this machine, connected by TLS, as `pansvm demo` starts them. CPU seconds and memory are read from ``/proc``,
so this needs Linux. Hospitals are connected before the first run, and stay connected until the last one ends.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clients.node.node_config import set_key
from flower_pansvm.result_file import read_result
from flower_pansvm.terms import Scalar
from simulations.benchmarks.hospitals import HOSPITALS as HEART
from simulations.benchmarks.results import RESULTS, DataDir, Out, run_benchmark, write_results
from simulations.trial import SCHEMA, generated_tables, set_up, started_study
from strategies.deployment.superlink import train

HOSPITALS = (3, 10)
RUNS = 20
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

SERVER, NODE = "flower-superlink", "clients.node.node"
"""What is in the command line of the SuperLink, and of a hospital's SuperNode."""


def lines(hospitals: int, runs: int = RUNS) -> Iterator[dict[str, Any]]:
    """Yield what each of so many runs took, one after the other, of a study of so many hospitals."""
    with tempfile.TemporaryDirectory() as name:
        tables = generated_tables(Path(name), hospitals)
        for line in _runs(Path(name), tables, SETTINGS, SCHEMA, runs):
            yield {"hospitals": hospitals, **line}


def heart(data_dir: Path, runs: int = HEART_RUNS) -> Iterator[dict[str, Any]]:
    """Yield what each of so many runs of each system took that the four heart hospitals train."""
    tables = {name: (data_dir / f"heart-{name}.csv.gz").absolute() for name in HEART}
    for system, settings in SYSTEMS.items():
        with tempfile.TemporaryDirectory() as name:
            for line in _runs(Path(name), tables, settings, HEART_SCHEMA, runs):
                yield {"system": system, **line}


def _runs(
    folder: Path, tables: Mapping[str, Path], settings: Mapping[str, Scalar], schema: str, runs: int
) -> Iterator[dict[str, Any]]:
    """Yield what each run took of a study of hospitals with these tables."""
    coordinator, _ = set_up(folder, tables, settings, schema)
    for hospital in tables:
        set_key(folder / hospital, "epsilon", 2.0 * runs)  # a budget for all of them
    with started_study(folder, tables):
        for number in range(1, runs + 1):
            before = {name: cpu_seconds(folder, name) for name in (SERVER, NODE)}
            began = time.monotonic()
            result = read_result(train(coordinator, folder / f"results-{number}", lambda _: None))
            seconds, trips = time.monotonic() - began, result["round_trips"]
            used = {name: cpu_seconds(folder, name) - before[name] for name in before}
            of_phases = {
                kind: sum(phase[kind] for phase in result["phases"].values()) / trips
                for kind in ("seconds", "waiting", "work")
            }
            yield {
                "run": number,
                "round_trips": trips,
                "seconds": seconds,
                "seconds_a_trip": of_phases["seconds"],
                "waiting_a_trip": of_phases["waiting"],
                "work_a_trip": of_phases["work"],
                "server_cpu_a_trip": used[SERVER] / trips,
                "node_cpu_a_trip": used[NODE] / trips / len(tables),
                "server_gb": gigabytes(folder, SERVER),
                "node_gb": gigabytes(folder, NODE) / len(tables),
                "failed": len(result["dropped_sites"]),
            }


def processes(folder: Path, program: str) -> Iterator[Path]:
    """Yield the folder in ``/proc`` of each process that runs a program for somebody in a study's folder."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command, variables = ((process / part).read_bytes() for part in ("cmdline", "environ"))
            if program.encode() in command and f"FLWR_HOME={folder}/".encode() in variables:
                yield process


def cpu_seconds(folder: Path, program: str) -> float:
    """Return the CPU seconds of these processes so far, with those of children that have ended."""
    ticks = 0
    for process in processes(folder, program):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def gigabytes(folder: Path, program: str) -> float:
    """Return the memory that these processes hold now."""
    pages = 0
    for process in processes(folder, program):
        with contextlib.suppress(OSError):
            pages += int((process / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


def main(data_dir: DataDir, out: Out = RESULTS) -> None:
    """Measure the four heart hospitals, and studies of three and of ten hospitals."""
    write_results("deployment_heart", {"runs": list(heart(data_dir))}, out)
    write_results("deployment", {"runs": [line for count in HOSPITALS for line in lines(count)]}, out)


if __name__ == "__main__":
    run_benchmark(main)
