"""Seconds to a first result, here and at an earlier commit: ``python -m simulations.benchmarks first_result``.

Run it in a clone with git's history. Both commits run in this Python, each from its own folder. ``flwr run .`` installs
the packages in ``pyproject.toml`` from an index. *Imports alone* are the packages of others that a run needs.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

from flower_pansvm.study.processes import flower_environment, free_port
from strategies.app import superlink_processes

BEFORE, REPEATS = "aa2db2f5", 5
LONGEST = 300.0  # seconds, after which a command counts as failed
BARE = "import numpy, pandas, piqp, scipy.optimize, sklearn.svm, flwr.clientapp, flwr.serverapp, cryptography"
COMMANDS = {
    "imports alone": ["-c", BARE],
    "pansvm --help": ["-m", "PANSVM", "--help"],
    "pansvm run --engine in-process": ["-m", "PANSVM", "run", "--engine", "in-process", "--out", "out"],
    "pansvm run": ["-m", "PANSVM", "run", "--out", "out"],
}


def timed(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """Run a command in a folder; return its seconds, CPU seconds (not of what it leaves running) and exit code."""
    before, started = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    limited = ["timeout", str(LONGEST), *command]
    code = subprocess.run(limited, cwd=folder, env=environment, capture_output=True, check=False).returncode
    seconds, after = time.perf_counter() - started, getrusage(RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "cpu_seconds": cpu, "exit_code": code}


def commands(clone: Path) -> Iterator[dict[str, Any]]:
    """Measure the commands of a clone, each as often."""
    module = "flower_pansvm" if (clone / "flower_pansvm" / "__main__.py").exists() else "simulations"
    for name, arguments in COMMANDS.items():
        command = [sys.executable, *(module if argument == "PANSVM" else argument for argument in arguments)]
        for _ in range(REPEATS):
            with tempfile.TemporaryDirectory() as folder:
                figures = timed(command, Path(folder), {**os.environ, "PYTHONPATH": str(clone)})
            yield {"command": name, **figures}


def flwr_run(app: Path, name: str) -> dict[str, Any]:
    """Measure ``flwr run .`` in a folder, and end the SuperLink that it leaves running."""
    with tempfile.TemporaryDirectory() as home:
        environment = flower_environment(Path(home)) | {"PYTHONPATH": str(app)}
        environment |= {"FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(free_port())}
        figures = timed(["flwr", "run", ".", "--stream"], app, environment)
        listed = ["flwr", "ls", "--format", "json"]
        done = subprocess.run(listed, cwd=app, env=environment, capture_output=True, text=True, check=False)
        for process in superlink_processes(Path(home) / "local-superlink" / "superlink.log"):
            os.kill(int(process), signal.SIGKILL)
    runs = json.loads(done.stdout)["runs"] if done.stdout.startswith("{") else []
    return {"command": name, **figures, "status": runs[0]["status"] if runs else "not started"}


def bundle_of(clone: Path, folder: Path) -> Path:
    """Build a clone's bundle, and unpack it in a folder."""
    build, environment = ["flwr", "build", "--app", str(clone)], flower_environment(folder)
    subprocess.run(build, cwd=folder, env=environment, check=True, capture_output=True)
    (bundle,) = folder.glob("*.fab")
    zipfile.ZipFile(bundle).extractall(folder / "app")
    return folder / "app"


def lines() -> Iterator[dict[str, Any]]:
    """Yield the figures of a clone of this commit and of one of an earlier commit."""
    for version in ("HEAD", BEFORE):
        with tempfile.TemporaryDirectory() as name:
            clone, other = Path(name) / "clone", Path(name) / "other"
            other.mkdir()
            subprocess.run(["git", "clone", "--quiet", ".", str(clone)], check=True)
            subprocess.run(["git", "checkout", "--quiet", version], cwd=clone, check=True)
            measured = [
                *commands(clone),
                flwr_run(clone, "flwr run ."),
                flwr_run(bundle_of(clone, other), "of a bundle"),
            ]
            yield from ({"version": version, **line} for line in measured)


TABLES = {"commands": lines}
