"""A study on this machine whose SuperNodes and SuperLink can be killed, stopped and started again."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Self

from flower_pansvm.terms import Scalar
from simulations.deployment.coordinator import FLOWER_FOLDER
from simulations.deployment.files import new_folder
from simulations.deployment.node_config import set_key
from simulations.deployment.superlink import checkout
from simulations.deployment.supernode import flower_environment
from simulations.deployment.trial import (
    CONNECTED,
    READY,
    generated_tables,
    set_up,
    started_command,
    wait_for,
)
from simulations.engines.processes import kill_group

PATIENCE = 900.0
"""Longest wait for what should come; a machine that does other work as well is slow."""

PAN_SVM: dict[str, Scalar] = {"strategy": "pan-svm", "landmarks": 10.0, "tol": 0.5, "test-fraction": 0.2}


def processes_of(folder: Path) -> list[tuple[int, str]]:
    """Return number and command line of each process, but for this one, whose Flower folder is in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            about = f"FLWR_HOME={folder}/".encode() in (process / "environ").read_bytes()
            if about and int(process.name) != os.getpid():
                found.append((int(process.name), command))
    return found


class Study:
    """A coordinator and hospitals with drawn tables, as ``pansvm demo`` has them.

    Parameters
    ----------
    folder : Path
        New folder for everything.
    hospitals : int
        How many.
    settings : mapping
        Settings that the hospitals agree to.
    """

    def __init__(
        self,
        folder: Path,
        hospitals: int = 4,
        settings: Mapping[str, Scalar] = PAN_SVM,
    ) -> None:
        self.folder = new_folder(folder)
        tables = generated_tables(self.folder, hospitals, rows=80)
        self.names = list(tables.files)
        self.coordinator, _ = set_up(self.folder, tables, settings)
        for name in self.names:
            set_key(
                self.folder / name, "min-sites", 3
            )  # so that runs go on without a hospital that is killed
        self._running: dict[str, contextlib.ExitStack] = {}
        self._read: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Start the SuperLink and all SuperNodes."""
        self.start("coordinator")
        for name in self.names:
            self.start(name, wait=False)
        for name in self.names:
            self.wait(name, CONNECTED)
        return self

    def __exit__(self, *_: object) -> None:
        """End all that was started."""
        for name in list(self._running):
            self.end(name)

    def start(self, name: str, *, wait: bool = True, **environment: str) -> "subprocess.Popen[str]":
        """Run ``pansvm hospital start`` or ``pansvm coordinator start``, in an environment with some more variables."""
        self.end(name)
        self._read[name] = 0
        stack = self._running[name] = contextlib.ExitStack()
        before = dict(os.environ)
        os.environ.update(environment)
        try:
            kind = "coordinator" if name == "coordinator" else "hospital"
            process = stack.enter_context(started_command(kind, self.folder, name))
        finally:
            os.environ.clear()
            os.environ.update(before)
        if wait:
            wait_for({name: process}, self.folder, READY if kind == "coordinator" else CONNECTED)
        return process

    def end(self, name: str) -> None:
        """End it as Ctrl-C would."""
        if name in self._running:
            self.signal(name, signal.SIGCONT)
            self._running.pop(name).close()

    def signal(self, name: str, number: int, only: str = "") -> bool:
        """Send a signal to Flower's processes of a hospital or the coordinator; tell whether there were any."""
        there = False
        for pid, command in processes_of(self.folder / name):
            if "-m simulations" not in command and only in command:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
                    there = True
        return there

    def log(self, name: str) -> str:
        """Return what is in the log of a hospital or the coordinator since :meth:`forget`."""
        return (self.folder / f"{name}.log").read_text(errors="replace")[self._read[name] :]

    def wait(self, name: str, sign: str, seconds: float = PATIENCE) -> None:
        """Wait until a sign, a regular expression, is in a log."""
        wait_until(lambda: re.search(sign, self.log(name)) is not None, seconds, f"{sign} in {name}'s log")

    def forget(self) -> None:
        """Leave out from now on what is in the logs, so that signs in them are new ones."""
        for name in self._running:
            self._read[name] += len(self.log(name))

    @contextlib.contextmanager
    def training(self, out: Path, *options: str) -> Iterator["TrainingProcess"]:
        """Run ``pansvm coordinator train`` beside the ``with`` block."""
        self.forget()
        command = [sys.executable, "-m", "simulations", "coordinator", "train"]
        command += ["--folder", str(self.coordinator.folder), "--out", str(out), *options]
        log = out.parent / f"{out.name}{''.join(options)}.log"
        with log.open("w") as file:
            process = subprocess.Popen(
                command,
                cwd=checkout(),
                env=flower_environment(self.coordinator.folder / FLOWER_FOLDER),
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            try:
                yield TrainingProcess(process, log, out)
            finally:
                kill_group(process)


class TrainingProcess:
    """A training that runs beside, with its log."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path, out: Path) -> None:
        self.process, self.out, self._log = process, out, log

    @property
    def log(self) -> str:
        """What the coordinator's window shows."""
        return self._log.read_text(errors="replace")

    def wait(self, sign: str) -> None:
        """Wait until a sign is in the log, or the command has ended."""
        wait_until(
            lambda: self.process.poll() is not None or re.search(sign, self.log) is not None, PATIENCE, sign
        )

    def end(self) -> int:
        """Wait until the command ends and return its exit code."""
        return self.process.wait(PATIENCE)

    @property
    def kept(self) -> int:
        """Number of sums in the checkpoint."""
        return len(list(self.out.glob("checkpoint/*.npz")))


def wait_until(is_so: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for something; TimeoutError if it takes too long."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Not seen in {seconds:g} s: {what}")
        time.sleep(0.1)
