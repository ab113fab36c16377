"""Many runs on one SuperLink with the same SuperNodes: what grows from run to run, and whose it is.

``python -m simulations.benchmarks.soak --out DIR``; docs/faults.md has the figures.
"""

import contextlib
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from flower_pansvm.terms import Scalar
from simulations.benchmarks.faults.study import processes_of
from simulations.deployment.files import new_folder
from simulations.deployment.superlink import checkout, train
from simulations.deployment.trial import (
    CONNECTED,
    READY,
    generated_tables,
    set_up,
    started_command,
    wait_for,
)
from simulations.engines.processes import exit_on_signals

SETTINGS: dict[str, Scalar] = {"strategy": "local-only", "test-fraction": 0.2}
"""Two round trips: starting and ending runs is what is tried, not training."""

PROGRAMS = (
    *("flower-superlink", "flower-supernode", "flower-superexec", "clients.executor"),
    *("hospital start", "coordinator start"),
)
FOLDERS = ("state", "cache", "flower")


def main(
    out: Annotated[Path, typer.Option(help="New folder for the study and the figures.")],
    runs: Annotated[int, typer.Option(help="How many.")] = 50,
    every: Annotated[int, typer.Option(help="Measure after each so many runs.")] = 10,
) -> None:
    """Train again and again with three hospitals, and write down what there is in between."""
    folder = new_folder(out)
    (folder / "tmp").mkdir()
    os.environ["TMPDIR"] = str(folder / "tmp")  # what is left there is the study's
    tables = generated_tables(folder, hospitals=3, rows=60)
    coordinator, _ = set_up(folder, tables, SETTINGS)
    figures = []
    with exit_on_signals(), contextlib.ExitStack() as running:
        link = running.enter_context(started_command("coordinator", folder))
        wait_for({"coordinator": link}, folder, READY)
        nodes = {
            name: running.enter_context(started_command("hospital", folder, name)) for name in tables.files
        }
        wait_for(nodes, folder, CONNECTED)
        for run in range(runs + 1):
            if run:
                began = time.monotonic()
                train(coordinator, checkout(), folder / "results" / f"{run:03d}", lambda _line: None)
                sys.stderr.write(f"run {run}: {time.monotonic() - began:.0f} s\n")
            if run in (0, 1) or run % every == 0:
                figures.append({"runs": run, **measured(folder)})
                (folder / "soak.json").write_text(json.dumps(figures, indent=2) + "\n")
    left = [pid for pid, _ in processes_of(folder)]
    sys.stderr.write(f"processes left at the end: {len(left)}\n")


def measured(folder: Path) -> dict[str, dict[str, float]]:
    """Return memory (MB), processes and open files by program, and sizes (KB) and numbers of files on the disk."""
    time.sleep(5)  # what is about to end has ended
    memory: Counter[str] = Counter()
    processes: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for pid, command in processes_of(folder):
        program = next((name for name in PROGRAMS if name in command), "others")
        with contextlib.suppress(OSError):
            status = (Path("/proc") / str(pid) / "status").read_text()
            files[program] += len(list((Path("/proc") / str(pid) / "fd").iterdir()))
            memory[program] += int(status.partition("VmRSS:")[2].split()[0]) if "VmRSS" in status else 0
            processes[program] += 1
    sizes, numbers = Counter[str](), Counter[str]()
    for path in folder.rglob("*"):
        if path.is_file():
            place = path.relative_to(folder).parts
            if place[0].endswith(".log"):
                what = "logs"
            elif path.name.startswith("state.db"):
                what = "SuperLink's database"
            elif place[0].startswith("hospital") and len(place) > 2 and place[1] in FOLDERS:
                what = f"hospitals' {place[1]}"
            elif place[0] == "coordinator" and len(place) > 2:
                what = f"coordinator's {place[1]}"
            else:
                what = place[0] if place[0] in ("tmp", "results") else "else"
            sizes[what] += path.stat().st_size
            numbers[what] += 1
    return {
        "memory_mb": {name: round(kilobytes / 1024, 1) for name, kilobytes in sorted(memory.items())},
        "processes": dict(sorted(processes.items())),
        "open_files": dict(sorted(files.items())),
        "disk_kb": {name: round(size / 1024, 1) for name, size in sorted(sizes.items())},
        "files": dict(sorted(numbers.items())),
    }


if __name__ == "__main__":
    typer.run(main)
