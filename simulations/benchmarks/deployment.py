"""What a run costs at a real SuperLink with hospitals' own SuperNodes.

``python -m simulations.benchmarks deployment``: hospitals with drawn tables; ``deployment_heart`` has others.

All are on this machine, connected by TLS, as `pansvm demo` starts them. CPU seconds and memory are read from ``/proc``,
so this needs Linux. Hospitals are connected before the first run, and stay connected until the last one ends.
"""

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clients.deployment.node_file import set_key
from flower_pansvm.result_file import read_result
from flower_pansvm.terms import Scalar
from simulations.study_processes import processes_about
from simulations.trial import SCHEMA, generated_tables, set_up, started_study
from strategies.deployment.coordinator import Coordinator
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
SERVER, NODE = "flower-superlink", "clients.node.node"
"""What is in the command line of the SuperLink, and of a hospital's SuperNode."""

WORK = re.compile(r"work on '(?!relay)\w+': ([\d.]+) s")


def lines(runs: int = RUNS) -> Iterator[dict[str, Any]]:
    """Yield the costs of each of so many runs, one after the other, of studies of so many hospitals."""
    for hospitals in HOSPITALS:
        with tempfile.TemporaryDirectory() as name:
            tables = generated_tables(Path(name), hospitals)
            for line in costs_of_study(Path(name), tables, SETTINGS, SCHEMA, runs):
                yield {"hospitals": hospitals, **line}


def costs_of_study(
    folder: Path, tables: Mapping[str, Path], settings: Mapping[str, Scalar], schema: str, runs: int
) -> Iterator[dict[str, Any]]:
    """Yield the costs of each run of a study of hospitals with these tables."""
    coordinator, _ = set_up(folder, tables, settings, schema)
    for hospital in tables:
        set_key(folder / hospital, "epsilon", 2.0 * runs)  # a budget for all of them
    with started_study(folder, tables):
        yield from costs(folder, list(tables), runs, coordinator)


def costs(
    folder: Path, hospitals: Sequence[str], runs: int, coordinator: Coordinator
) -> Iterator[dict[str, Any]]:
    """Yield the costs of each of so many trainings of a running study in a folder.

    Seconds are means of a round trip: all of it; waiting for the hospitals' answers; and the work of the slowest of
    these, by their logs, so that the rest of the waiting is Flower's and the network's.
    """
    for run in range(1, runs + 1):
        before, read = _cpu(folder, hospitals), {name: len(_log(folder, name)) for name in hospitals}
        began = time.monotonic()
        result = read_result(train(coordinator, folder / f"results-{run}", lambda _: None))
        seconds, trips, after = time.monotonic() - began, result["round_trips"], _cpu(folder, hospitals)
        phases, works = (
            result["phases"].values(),
            [WORK.findall(_log(folder, name)[read[name] :]) for name in hospitals],
        )
        yield {
            "run": run,
            "round_trips": trips,
            "seconds": seconds,
            "seconds_a_trip": sum(phase["seconds"] for phase in phases) / trips,
            "waiting_a_trip": sum(phase["waiting"] for phase in phases) / trips,
            "hospital_a_trip": sum(max(map(float, of_step)) for of_step in zip(*works, strict=False)) / trips,
            "server_cpu_a_trip": (after[0] - before[0]) / trips,
            "node_cpu_a_trip": (after[1] - before[1]) / trips / len(hospitals),
            "server_gb": gigabytes(folder / "coordinator", SERVER),
            "node_gb": sum(gigabytes(folder / name, NODE) for name in hospitals) / len(hospitals),
            "failed": len(result["dropped_sites"]),
        }


def _log(folder: Path, name: str) -> str:
    return (folder / f"{name}.log").read_text(errors="replace")


def _cpu(folder: Path, hospitals: Iterable[str]) -> tuple[float, float]:
    """Return the CPU seconds so far of the SuperLink, and of all hospitals."""
    return cpu_seconds(folder / "coordinator", SERVER), sum(
        cpu_seconds(folder / name, NODE) for name in hospitals
    )


def cpu_seconds(folder: Path, program: str) -> float:
    """Return the CPU seconds so far of a study's processes of a program, with those of children that have ended."""
    ticks = 0
    for pid in processes_about(folder, program):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def gigabytes(folder: Path, program: str) -> float:
    """Return the memory that these processes hold now."""
    pages = 0
    for pid in processes_about(folder, program):
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


TABLES = {"runs": lines}
