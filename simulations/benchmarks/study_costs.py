"""Where the seconds of a deployed training go: ``python study_costs.py FOLDER HOSPITALS RUNS SETTINGS`` measures some.

It sets up a study of drawn tables, trains so often, and prints a line of JSON a training. It runs within a checkout of
this project, an earlier one as well, whose modules lie elsewhere: so it imports none by name before it knows. CPU
seconds and memory are read from ``/proc``.
"""

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NOW = ("simulations.trial", "clients.deployment.node_file", "strategies.deployment.superlink")
EARLIER = (
    "simulations.deployment.trial",
    "simulations.deployment.node_config",
    "simulations.deployment.superlink",
)
"""Modules of a trial, of the node config's keys, and of training: now, and at commit aa2db2f5."""

SERVER, NODE = "flower-superlink", ("clients.node.node", "flower-super")
"""What is in the command line of the SuperLink, and of a hospital's SuperNode and what starts its processes."""

WORK = re.compile(r"work on '(?!relay)\w+': ([\d.]+) s")


def lines(
    folder: Path, names: Iterable[str], runs: int, train: Callable[[Path], Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the costs of each of so many trainings of a running study in a folder, by the names of its hospitals.

    ``train`` trains, writes into a folder, and returns ``result.json``. Seconds are means of a round trip: all of it;
    waiting for the hospitals' answers; and the work of the slowest of these, by their logs, so that the rest of the
    waiting is Flower's and the network's.
    """
    hospitals = list(names)
    for run in range(1, runs + 1):
        before, read = _cpu(folder, hospitals), {name: len(_log(folder, name)) for name in hospitals}
        began = time.monotonic()
        result = train(folder / f"results-{run}")
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
            "node_gb": sum(gigabytes(folder / name, *NODE) for name in hospitals) / len(hospitals),
            "failed": len(result["dropped_sites"]),
        }


def _log(folder: Path, name: str) -> str:
    return (folder / f"{name}.log").read_text(errors="replace")


def _cpu(folder: Path, hospitals: Iterable[str]) -> tuple[float, float]:
    """Return the CPU seconds so far of the SuperLink, and of all hospitals."""
    return cpu_seconds(folder / "coordinator", SERVER), sum(
        cpu_seconds(folder / name, *NODE) for name in hospitals
    )


def processes(folder: Path, *programs: str) -> Iterator[Path]:
    """Yield the folder in ``/proc`` of each process that runs one of the programs for whom a study's folder is."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command, variables = ((process / file).read_bytes() for file in ("cmdline", "environ"))
            if f"FLWR_HOME={folder}/".encode() in variables and any(
                program.encode() in command for program in programs
            ):
                yield process


def cpu_seconds(folder: Path, *programs: str) -> float:
    """Return the CPU seconds of these processes so far, with those of children that have ended."""
    ticks = 0
    for process in processes(folder, *programs):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def gigabytes(folder: Path, *programs: str) -> float:
    """Return the memory that these processes hold now."""
    pages = 0
    for process in processes(folder, *programs):
        with contextlib.suppress(OSError):
            pages += int((process / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


def main(path: str, hospitals: str, runs: str, settings: str) -> None:
    """Measure trainings of drawn tables in the checkout that this process imports from."""
    folder = Path(path)
    trial, node_config, superlink = map(
        import_module, EARLIER if find_spec("simulations.deployment") else NOW
    )
    tables = trial.generated_tables(folder, int(hospitals))
    coordinator, _ = trial.set_up(folder, tables, json.loads(settings))
    for name in tables:
        node_config.set_key(folder / name, "epsilon", 2.0 * int(runs))  # a budget for all of them

    def train(out: Path) -> Any:
        superlink.train(coordinator, out, lambda _: None)
        return json.loads((out / "result.json").read_text())

    with contextlib.ExitStack() as running:
        link = running.enter_context(trial.started_command("coordinator", folder))
        trial.wait_for({"coordinator": link}, folder, trial.READY)
        nodes = {
            name: running.enter_context(trial.started_command("hospital", folder, name)) for name in tables
        }
        trial.wait_for(nodes, folder, trial.CONNECTED)
        for line in lines(folder, tables, int(runs), train):
            sys.stdout.write(f"{json.dumps(line)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
