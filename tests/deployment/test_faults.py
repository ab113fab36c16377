"""Faults at real SuperNodes and a real SuperLink: no sum that the coordinator had is lost."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import pytest

from clients.deployment.node_file import set_key
from flower_pansvm.study.processes import flower_environment, kill_group
from flower_pansvm.terms import Scalar
from simulations.trial import CONNECTED, READY, generated_tables, set_up, started_command, wait_for
from strategies.deployment.coordinator import FLOWER_FOLDER
from strategies.deployment.superlink import checkout
from tests.deployment.conftest import processes_about

PATIENCE = 900.0
"""Longest wait for what should come; a machine that does other work as well is slow."""

PAN_SVM: dict[str, Scalar] = {"strategy": "pan-svm", "landmarks": 10.0, "tol": 0.5, "test-fraction": 0.2}
LOCAL_ONLY: dict[str, Scalar] = {"strategy": "local-only", "timeout": 90.0}
CHEATS = Path(__file__).parent / "cheat"


class Study:
    """A coordinator and hospitals with drawn tables, as ``pansvm demo`` has them."""

    def __init__(self, folder: Path, settings: Mapping[str, Scalar], hospitals: int = 4) -> None:
        self.folder = folder
        tables = generated_tables(folder, hospitals, rows=80)
        self.names = list(tables)
        self.coordinator, _ = set_up(folder, tables, settings)
        for name in self.names:
            set_key(folder / name, "min-sites", 3)  # so that runs go on without a hospital that is killed
        self._running: dict[str, contextlib.ExitStack] = {}
        self._read: dict[str, int] = {}

    def __enter__(self) -> Self:
        self.start("coordinator")
        for name in self.names:
            self.start(name, wait=False)
        for name in self.names:
            self.wait(name, CONNECTED)
        return self

    def __exit__(self, *_: object) -> None:
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
            self._running.pop(name).close()

    def kill(self, name: str, only: str = "") -> None:
        """Kill Flower's processes of a hospital or the coordinator."""
        there = processes_about(self.folder / name).items()
        found = [pid for pid, command in there if "-m flower_pansvm" not in command and only in command]
        assert found
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def log(self, name: str) -> str:
        """Return what is in the log of a hospital or the coordinator since :meth:`forget`."""
        return (self.folder / f"{name}.log").read_text(errors="replace")[self._read[name] :]

    def wait(self, name: str, sign: str) -> None:
        """Wait until a sign is in a log."""
        deadline = time.monotonic() + PATIENCE
        while sign not in self.log(name):
            assert time.monotonic() < deadline, f"not seen in {name}'s log: {sign}\n{self.log(name)[-5000:]}"
            time.sleep(0.1)

    def forget(self) -> None:
        """Leave out from now on what is in the logs, so that signs in them are new ones."""
        for name in self._running:
            self._read[name] += len(self.log(name))

    @contextlib.contextmanager
    def training(self, out: Path, *options: str) -> Iterator["TrainingProcess"]:
        """Run ``pansvm coordinator train`` beside the ``with`` block."""
        self.forget()
        command = [sys.executable, "-m", "flower_pansvm", "coordinator", "train"]
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

    def end(self) -> int:
        """Wait until the command ends and return its exit code."""
        return self.process.wait(PATIENCE)

    @property
    def kept(self) -> int:
        """Number of sums in the checkpoint."""
        return len(list(self.out.glob("checkpoint/*.npz")))


@pytest.mark.slow(minutes=4)
def test_a_training_goes_on_after_ctrl_c_with_too_few_hospitals_left_and_while_its_server_is_killed(
    tmp_path: Path,
) -> None:
    with Study(tmp_path, PAN_SVM) as study:
        out, sign = tmp_path / "results", "asked for warm_start"
        with study.training(out) as training:
            study.wait(study.names[0], sign)
            os.kill(training.process.pid, signal.SIGINT)
            assert (training.end(), training.kept) == (130, 2)
        with study.training(out, "--resume") as training:
            for name in study.names[2:]:
                study.wait(name, sign)
                study.kill(name)
            assert (training.end(), training.kept) == (1, 2)
            assert all(name in training.log for name in study.names[2:])
        for name in study.names[2:]:
            study.wait(name, CONNECTED)
        with study.training(out, "--resume") as training:
            study.wait(study.names[0], sign)
            study.kill("coordinator", "flower-superlink")
            assert training.end() == 0, training.log
            assert "resuming after 2 sums" in training.log


@pytest.mark.slow(minutes=5)
def test_a_hospital_that_sends_something_else_is_named_or_left_out(tmp_path: Path) -> None:
    path = f"{CHEATS}:{os.environ.get('PYTHONPATH', '')}"
    left_out = "'hospital-4' does not answer and is left out"
    with Study(tmp_path, LOCAL_ONLY) as study:
        for cheat, (code, told) in {
            "empty:local_scores": (1, "hospital-4"),
            "shape:local_scores": (1, "hospital-4"),
            "words:local_scores": (1, "local_scores"),  # a sum does not say whose words are random
            "key:join": (1, "hospital-4"),
            "raise:local_scores": (0, left_out),
            "silent:local_scores": (0, left_out),
        }.items():
            study.start("hospital-4", PYTHONPATH=path, PANSVM_CHEAT=cheat)
            with study.training(tmp_path / cheat.partition(":")[0]) as training:
                assert (training.end(), told in training.log) == (code, True), training.log
                assert "4711" not in training.log
