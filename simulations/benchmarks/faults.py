"""Messages of both ends after each fault, and the time to recover: ``python -m simulations.benchmarks faults``.

All are real processes on this machine, with drawn tables, so this needs Linux. One fault comes after the other in one
study, and the last line is a training after all of them.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from flower_pansvm.terms import Scalar
from simulations.disturbance import variables_for
from simulations.study_processes import COORDINATOR, RunningStudy, RunningTraining
from simulations.trial import CONNECTED, READY

SETTINGS: Mapping[str, Scalar] = {"strategy": "local-only", "timeout": 90.0}
HOSPITALS = 3
LINK, EXECUTOR, NODE = "flower-superlink", "flower-superexec", "clients.node.node"
"""What is in the command line of the SuperLink, the SuperExec and a hospital's SuperNode."""

STALL, LONG_STALL = 75.0, 600.0
DISK = "64m"
BACK, AGAIN = "the connection is back", "is started again"
UNNOTICED_SECONDS = 20.0
"""A hospital without a message for so long after a fault has not noticed it: it sends a request every 3 s."""

TELLING = (
    "tried again",
    "tries again",
    "500",
    AGAIN,
    "Error",
    "refuse",
    "cannot be",
    "does not answer",
    "ended as",
)
"""What is in a line that says what is wrong."""

WELL = (CONNECTED, BACK, READY, "results are in", "replied to")
"""What is in a line that says that all is well."""

FAILED = "The training ended as 'finished:failed'. "
NOTHING, LONGEST = "nothing", 160
BEFORE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +(ERROR: |WARNING: )?")
SERVER = re.compile(r"localhost:\d+")
RUNS = {
    "a run of one of Flower's agents": "agent",
    "a bundle whose `pyproject.toml` is broken": "toml",
    "a bundle that is no zip": "zip",
    "a bundle that unpacks to 64 MB": "bomb",
    "a training after all of these": "",
}

Line = dict[str, Any]
Act = tuple[str, Callable[[], float], list[str]]


class FaultBench:
    """A study that runs, and the file by which it is disturbed."""

    def __init__(self, study: RunningStudy, now: Path) -> None:
        self._study, self._now, self._first = study, now, study.names[0]

    def stall(self, seconds: float) -> float:
        """Stop the SuperLink for some seconds; all acts return the time from which hospitals can be back."""
        self._study.signal(COORDINATOR, LINK, signal.SIGSTOP)
        time.sleep(seconds)
        self._study.signal(COORDINATOR, LINK, signal.SIGCONT)
        return time.monotonic()

    def disturb(self, kind: str, sign: str) -> float:
        """Disturb until a sign is in all hospitals' logs."""
        self._now.write_text(kind)
        for name in self._study.names:
            self._study.wait(name, sign)
        self._now.write_text("")
        return time.monotonic()

    def kill(self, name: str, program: str) -> float:
        """Kill a program that is started again by itself."""
        self._study.signal(name, program)
        began = time.monotonic()
        self._study.wait(name, AGAIN)
        return began

    def kill_start(self, name: str, command: str) -> float:
        """Kill the command that keeps programs running, and give it again, as systemd would."""
        self._study.signal(name, command)
        began = time.monotonic()
        self._study.start(name)
        return began

    def restart_both(self) -> float:
        """End server and hospital as Ctrl-C does, and start both again, the hospital first."""
        for name in (COORDINATOR, self._first):
            self._study.end(name)
        began = time.monotonic()
        self._study.start(self._first, wait=False)
        self._study.start(COORDINATOR)
        return began

    def line(self, fault: str, act: Callable[[], float], hospitals: list[str]) -> Line:
        """Cause a fault, and return the messages and when the last of some hospitals was back."""
        self._study.forget()
        began = act()
        waiting, seconds = set(hospitals), 0.0
        while waiting:
            passed = time.monotonic() - began
            logs = {name: self._study.log(name) for name in waiting}
            back = {name for name, log in logs.items() if BACK in log or CONNECTED in log}
            seconds = passed if back else seconds
            unnoticed = {name for name, log in logs.items() if not log and passed > UNNOTICED_SECONDS}
            waiting -= back | unnoticed
            time.sleep(0.1)
        return self._messages(fault, self._study.log(COORDINATOR)) | {"back_after": round(seconds, 1)}

    def run(self, fault: str, kind: str, runs: int = 1) -> Line:
        """Train while the server does something, and return the messages; the hospitals stay connected."""
        with contextlib.ExitStack() as running:
            self._now.write_text(kind)
            out = self._study.coordinator.folder / f"results-{time.monotonic_ns()}"
            started: list[RunningTraining] = [
                running.enter_context(self._study.training(out.with_name(f"{out.name}-{index}")))
                for index in range(runs)
            ]
            ends = [(training.end(), training.log) for training in started]
            self._now.write_text("")
        failed = [log for code, log in ends if code]
        counts = {"back_after": None, "trainings": runs, "ended_well": runs - len(failed)}
        return self._messages(fault, [*failed, ends[0][1]][0]) | counts

    def full(self, fault: str, name: str) -> Line:
        """Train while the disk of a hospital or of the coordinator is full, and again when it has room."""
        ballast = self._study.folder / name / "ballast"
        for block in (2**16, 1):
            with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
                while file.write(bytes(block)):
                    pass
        line = self.run(fault, "")
        ballast.unlink()
        again = self.run(fault, "")
        return line | {kind: line[kind] + again[kind] for kind in ("trainings", "ended_well")}

    def _messages(self, fault: str, coordinator: str) -> Line:
        hospital = self._study.log(self._first)
        return {"fault": fault, "hospital": telling(hospital), "coordinator": telling(coordinator)}

    def acts(self, stalls: tuple[float, ...]) -> list[Act]:
        """Return faults that hospitals come back from: name, act, and which hospitals."""
        every, first = self._study.names, [self._first]
        return [
            *(
                (f"the SuperLink stands still for {seconds:g} s", partial(self.stall, seconds), every)
                for seconds in stalls
            ),
            ("HTTP's 500 to every question", partial(self.disturb, "full", "500"), every),
            ("the hospitals' clocks are an hour ahead", partial(self.disturb, "clock", "clock"), every),
            ("kill -9 of a SuperNode", partial(self.kill, self._first, NODE), first),
            ("kill -9 of the SuperLink", partial(self.kill, COORDINATOR, LINK), every),
            ("kill -9 of the SuperExec", partial(self.kill, COORDINATOR, EXECUTOR), every),
            (
                "kill -9 of `hospital start`, which is given again",
                partial(self.kill_start, self._first, "hospital start"),
                first,
            ),
            (
                "kill -9 of `coordinator start`, which is given again",
                partial(self.kill_start, COORDINATOR, "coordinator start"),
                every,
            ),
            ("server and a hospital are restarted at once", partial(self.restart_both), every),
        ]

    def lines(self, stalls: tuple[float, ...]) -> Iterator[Line]:
        """Yield the messages after each fault."""
        for fault, act, hospitals in self.acts(stalls):
            yield self.line(fault, act, hospitals)
        yield self.run("two runs at once", "", runs=2)
        if os.getuid() == 0:  # who alone gives them disks of their own
            yield self.full("a hospital's disk is full, and has room again", self._first)
            yield self.full("the coordinator's disk is full, and has room again", COORDINATOR)
        for fault, kind in RUNS.items():
            yield self.run(fault, kind)


@contextlib.contextmanager
def own_disk(folder: Path) -> Iterator[None]:
    """Move a folder's content to a small disk of its own; only root can, and nothing is done for others."""
    if os.getuid() != 0:
        yield
        return
    aside = folder.with_name(f"{folder.name}-aside")
    folder.rename(aside)
    folder.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "tmpfs", str(folder)], check=True)
    try:
        shutil.copytree(aside, folder, dirs_exist_ok=True, symlinks=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def telling(log: str) -> str:
    r"""Return the first line of a log that says what is wrong, cut after a sentence, or what else there is to say.

    Examples
    --------
    >>> telling("ok  budget\n2026-01-02 03:04:05  The server at localhost:8443 does not answer. It is tried again.")
    'The server does not answer. It is tried again.'
    >>> telling("")
    'nothing'
    """
    lines = [
        SERVER.sub("", BEFORE.sub("", line)).replace("server at ", "server") for line in log.splitlines()
    ]
    errors = [line for line in lines if line.startswith("Error: ")]
    texts = [line.removeprefix("Error: ").removeprefix(FAILED) for line in errors]
    texts += [line for line in lines if AGAIN in line]
    texts += [line for line in lines if any(sign in line for sign in TELLING) and "PUBLIC KEY" not in line]
    texts += [sign for sign in WELL if sign in log]
    line = texts[0] if texts else NOTHING
    short = line[: line.rfind(". ", 0, LONGEST) + 1] or f"{line[:LONGEST]} …"
    return line if len(line) <= LONGEST else short


def lines(long: bool = False) -> Iterator[Line]:
    """Yield the messages after each fault in a study of three hospitals, with ``long`` also one of ten minutes."""
    stalls = (STALL, LONG_STALL) if long else (STALL,)
    with tempfile.TemporaryDirectory() as name:
        now, environment = variables_for(Path(name))
        study = RunningStudy(Path(name), SETTINGS, HOSPITALS, environment)
        with own_disk(study.folder / study.names[0]), own_disk(study.coordinator.folder), study:
            yield from FaultBench(study, now).lines(stalls)


TABLES = {"faults": lines}
