"""A study of synthetic tables whose processes can be started, killed and watched: for tests and a benchmark."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

from clients.deployment.node_file import set_key
from flower_pansvm.errors import EngineError
from flower_pansvm.study.processes import flower_environment, started_process
from flower_pansvm.terms import Scalar
from simulations.trial import CONNECTED, READY, generated_tables, set_up, started_command, wait_for
from strategies.deployment.coordinator import FLOWER_FOLDER
from strategies.deployment.superlink import checkout

PATIENCE = 900.0
"""Longest wait for an expected event; a loaded machine is slow."""

COORDINATOR = "coordinator"


def processes_about(folder: Path, fragment: str = "") -> dict[int, str]:
    """Return pid and command line of each other process that names a study's folder; only those with a fragment."""
    processes = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            named = f"FLWR_HOME={folder}/".encode() in (process / "environ").read_bytes()
            if (named or str(folder) in command) and fragment in command and int(process.name) != os.getpid():
                processes[int(process.name)] = command
    return processes


class RunningStudy:
    """A coordinator and hospitals with synthetic tables, as of ``pansvm demo``.

    ``environment`` is added to the environment of this process.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Scalar],
        hospitals: int = 4,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.environment = folder, environment or {}
        tables = generated_tables(folder, hospitals, rows=80)
        self.names = list(tables)
        self.coordinator, _ = set_up(folder, tables, settings)
        for name in self.names:
            set_key(folder / name, "min-sites", 3)  # so that runs continue without a killed hospital
        self._running: dict[str, contextlib.ExitStack] = {}
        self._read: dict[str, int] = {}

    def __enter__(self) -> Self:
        for name in self.names:  # before the coordinator, as the guide allows
            self.start(name, wait=False)
        self.start(COORDINATOR)
        for name in self.names:
            self.wait(name, CONNECTED)
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._running):
            self.end(name)

    def start(self, name: str, *, wait: bool = True, **environment: str) -> "subprocess.Popen[str]":
        """Run ``pansvm hospital start`` or ``pansvm coordinator start``, with more environment variables."""
        self.end(name)
        self._read[name] = 0
        stack = self._running[name] = contextlib.ExitStack()
        kind = COORDINATOR if name == COORDINATOR else "hospital"
        command = started_command(kind, self.folder, name, **{**self.environment, **environment})
        process = stack.enter_context(command)
        if wait:
            wait_for({name: process}, self.folder, READY if kind == COORDINATOR else CONNECTED)
        return process

    def end(self, name: str) -> None:
        """End a hospital or the coordinator as Ctrl-C would."""
        if name in self._running:
            self._running.pop(name).close()

    def signal(self, name: str, fragment: str = "", signum: int = signal.SIGKILL) -> None:
        """Send a signal to the processes of a hospital or the coordinator with a fragment in their command line.

        Without a fragment to all of Flower's, but not to their parents. A process that is being restarted is waited
        for; EngineError if that takes too long.
        """
        deadline = time.monotonic() + PATIENCE
        reached: list[int] = []
        while not reached:
            if time.monotonic() > deadline:
                raise EngineError(
                    f"No process of '{name}' has '{fragment}' in its command line. Has it ended? See its log."
                )
            processes = processes_about(self.folder / name, fragment)
            reached = [
                pid for pid, command in processes.items() if fragment or "-m flower_pansvm" not in command
            ]
            time.sleep(0.0 if reached else 0.2)
        for pid in reached:
            with contextlib.suppress(OSError):
                os.kill(pid, signum)

    def log(self, name: str) -> str:
        """Return the log of a hospital or the coordinator since :meth:`forget`."""
        return (self.folder / f"{name}.log").read_text(errors="replace")[self._read[name] :]

    def wait(self, name: str, sign: str) -> None:
        """Wait until a log contains a sign; EngineError if that takes too long."""
        deadline = time.monotonic() + PATIENCE
        while sign not in self.log(name):
            if time.monotonic() > deadline:
                raise EngineError(f"Not seen in the log of '{name}': {sign}\n{self.log(name)[-5000:]}")
            time.sleep(0.1)

    def forget(self) -> None:
        """Skip the present contents of the logs, so that signs are new ones."""
        for name in self._running:
            self._read[name] += len(self.log(name))

    @contextlib.contextmanager
    def training(self, out: Path, *options: str) -> Iterator["RunningTraining"]:
        """Run ``pansvm coordinator train`` beside the ``with`` block."""
        self.forget()
        command = [sys.executable, "-m", "flower_pansvm", "coordinator", "train"]
        command += ["--folder", str(self.coordinator.folder), "--out", str(out), *options]
        log = self.folder / f"{out.name}{''.join(options)}.log"
        environment = flower_environment(self.coordinator.folder / FLOWER_FOLDER)
        with started_process(command, checkout(), environment, log) as process:
            yield RunningTraining(process, log, out)


class RunningTraining:
    """A training in the background, with its log."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path, out: Path) -> None:
        self.process, self.out, self._log = process, out, log

    @property
    def log(self) -> str:
        """The coordinator's output."""
        return self._log.read_text(errors="replace")

    def end(self) -> int:
        """Wait until the command ends and return its exit code."""
        return self.process.wait(PATIENCE)

    @property
    def kept(self) -> int:
        """Number of sums in the checkpoint."""
        return len(list(self.out.glob("checkpoint/*.npz")))
