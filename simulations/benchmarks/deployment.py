"""What a run costs at a real SuperLink with hospitals' own SuperNodes: ``python -m simulations.benchmarks.deployment``.

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

from flower_pansvm.result_file import read_result
from flower_pansvm.terms import Scalar
from simulations.benchmarks.results import RESULTS, Out, run_benchmark, write_results
from simulations.trial import generated_tables, set_up, started_study
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


def lines(hospitals: int, runs: int = RUNS) -> Iterator[dict[str, Any]]:
    """Yield what each of so many runs took, one after the other, of a study of so many hospitals."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = generated_tables(folder, hospitals)
        coordinator, _ = set_up(folder, tables, SETTINGS)
        with started_study(folder, tables):
            yield from _runs(coordinator, folder, hospitals, runs)


def _runs(coordinator: Coordinator, folder: Path, hospitals: int, runs: int) -> Iterator[dict[str, Any]]:
    """Yield what each run took."""
    for number in range(1, runs + 1):
        before = {name: cpu_seconds(folder, name) for name in (SERVER, NODE)}
        began = time.monotonic()
        result = read_result(train(coordinator, folder / f"results-{number}", lambda _: None))
        seconds, trips = time.monotonic() - began, result["round_trips"]
        used = {name: cpu_seconds(folder, name) - before[name] for name in before}
        yield {
            "hospitals": hospitals,
            "run": number,
            "round_trips": trips,
            "seconds": seconds,
            "seconds_a_trip": sum(phase["seconds"] for phase in result["phases"].values()) / trips,
            "server_cpu_a_trip": used[SERVER] / trips,
            "node_cpu_a_trip": used[NODE] / trips / hospitals,
            "server_gb": gigabytes(folder, SERVER),
            "node_gb": gigabytes(folder, NODE) / hospitals,
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


def main(out: Out = RESULTS) -> None:
    """Measure studies of three and of ten hospitals."""
    write_results("deployment", {"runs": [line for count in HOSPITALS for line in lines(count)]}, out)


if __name__ == "__main__":
    run_benchmark(main)
