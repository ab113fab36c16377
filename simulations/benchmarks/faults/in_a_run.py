"""Faults in the middle of a training."""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from flower_pansvm.terms import Scalar
from simulations.benchmarks.faults.study import PAN_SVM, PATIENCE, Study, TrainingProcess, wait_until
from simulations.deployment.trial import CONNECTED

Fault = Callable[[Path], Iterator[str]]

PHASES = ("join", "moments", "landmarks", "warm_start", "cuts", "scores")
"""A task of each phase of PAN-SVM, in their order."""

IMPATIENT: dict[str, Scalar] = {**PAN_SVM, "timeout": 120.0}
EXECUTOR = "clients.executor"
HEARTBEAT_SECONDS, PAUSE_SECONDS = 45.0, 20.0

CHEATS = Path(__file__).parent / "cheat"
TOLD = re.compile(
    r"left out|cannot be reached|going on|waiting for|Error|stopp|resum|accuracy|ended as|Results?:"
)


def seen(study: Study, training: TrainingProcess, *hospitals: str, lines: int = 4) -> Iterator[str]:
    """Yield what the coordinator and some hospitals have seen, and how it ended."""
    code = training.end()
    for line in training.log.splitlines():
        if TOLD.search(line):
            yield f"coordinator: {line}"
    for name in hospitals:
        for line in study.log(name).splitlines()[-lines:]:
            yield f"{name}: {line}"
    yield f"exit code {code}, {training.kept} sums in the checkpoint, {sorted(p.name for p in training.out.glob('*'))}"


def killed(folder: Path) -> Iterator[str]:
    """Kill a SuperNode in each phase, another one each time: two trainings of six hospitals, three in each."""
    with Study(folder, 6, IMPATIENT) as study:
        yield from _hit_in(study, PHASES[:3], signal.SIGKILL)
        for name in study.names[3:]:
            study.start(name, wait=False)
        for name in study.names[3:]:
            study.wait(name, CONNECTED)
        yield from _hit_in(study, PHASES[3:], signal.SIGKILL)


def hanging(folder: Path) -> Iterator[str]:
    """Let a SuperNode and its ClientApp hang (SIGSTOP) in join, moments and landmarks; they come back (SIGCONT)."""
    with Study(folder, 6, IMPATIENT) as study:
        yield from _hit_in(study, PHASES[:3], signal.SIGSTOP)
        yield from _all_are_back(study)


def executor_hanging(folder: Path) -> Iterator[str]:
    """Let an executor alone hang in warm start, cuts and scores; they come back, and a SuperNode pauses."""
    with Study(folder, 6, IMPATIENT) as study:
        yield from _hit_in(study, PHASES[3:], signal.SIGSTOP, EXECUTOR)
        yield from _all_are_back(study, study.names[3])


def _all_are_back(study: Study, pausing: str = "") -> Iterator[str]:
    """Let go on what hangs, and train with all hospitals; one of them may pause for some seconds."""
    for name in study.names:
        study.signal(name, signal.SIGCONT)
    time.sleep(HEARTBEAT_SECONDS)
    with study.training(study.folder / "again") as training:
        if pausing:
            study.wait(pausing, "asked for warm_start")
            study.signal(pausing, signal.SIGSTOP)
            time.sleep(PAUSE_SECONDS)
            study.signal(pausing, signal.SIGCONT)
        yield from seen(study, training, *study.names[3:])
        assert training.end() == 0
        assert "left out" not in training.log


def _hit_in(study: Study, phases: Sequence[str], number: int, only: str = "") -> Iterator[str]:
    """Train and send a signal to another one of the last hospitals in each phase; all of them are lost by that."""
    hit = study.names[-len(phases) :]
    with study.training(study.folder / phases[0]) as training:
        for task, name in zip(phases, hit, strict=True):
            study.wait(name, f"asked for {task}")
            wait_until(partial(study.signal, name, number, only), PATIENCE, f"a process of {name}")
        yield from seen(study, training, *hit)
        assert training.end() == 0
        assert training.log.count("is left out from now on") == len(phases)


def too_few_left(folder: Path) -> Iterator[str]:
    """Kill two of four SuperNodes, so that fewer than min-sites are left; they come back, and the run goes on."""
    with Study(folder) as study:
        out = folder / "results"
        with study.training(out) as training:
            for name in study.names[2:]:
                study.wait(name, "asked for warm_start")
                study.signal(name, signal.SIGKILL)
            yield from seen(study, training, study.names[3])
            assert training.end() == 1
            assert training.kept == 2
        for name in study.names[2:]:
            study.start(name)
        yield from _goes_on(study, out)


def superlink_killed(folder: Path) -> Iterator[str]:
    """Kill the SuperLink with kill -9 and start it again by the same command; the run goes on."""
    with Study(folder) as study:
        out = folder / "results"
        with study.training(out) as training:
            study.wait(study.names[0], "asked for warm_start")
            study.signal("coordinator", signal.SIGKILL, "flower-superlink")
            yield from seen(study, training, study.names[0])
            assert training.end() == 1
            assert training.kept == 2
        yield "coordinator start: " + study.log("coordinator").splitlines()[-1]
        study.start("coordinator")
        yield from _goes_on(study, out)


def interrupted(folder: Path) -> Iterator[str]:
    """Press Ctrl-C at `pansvm coordinator train`; then it goes on."""
    with Study(folder) as study:
        out = folder / "results"
        with study.training(out) as training:
            study.wait(study.names[0], "asked for warm_start")
            os.kill(training.process.pid, signal.SIGINT)
            yield from seen(study, training, study.names[0])
            assert training.end() == 130
            assert training.kept == 2
        yield from _goes_on(study, out)


def _goes_on(study: Study, out: Path) -> Iterator[str]:
    with study.training(out, "--resume") as training:
        yield from seen(study, training)
        assert training.end() == 0
        assert "resuming after 2 sums" in training.log


def garbage(folder: Path) -> Iterator[str]:
    """Let a hospital answer something else than it should, or nothing, or its process end or raise."""
    sums = "local_scores"
    said = {
        f"empty:{sums}": (1, "hospital-4"),
        f"shape:{sums}": (1, "hospital-4"),
        f"words:{sums}": (1, "cannot be"),
        "key:join": (1, "hospital-4"),
        f"raise:{sums}": (0, "'hospital-4' does not answer and is left out"),
        f"exit:{sums}": (0, "'hospital-4' does not answer and is left out"),
        f"silent:{sums}": (0, "'hospital-4' does not answer and is left out"),
    }
    path = f"{CHEATS}:{os.environ.get('PYTHONPATH', '')}"
    with Study(folder, settings={"strategy": "local-only", "timeout": 120.0}) as study:
        for cheat, (code, expected) in said.items():
            study.start("hospital-4", PYTHONPATH=path, PANSVM_CHEAT=cheat)
            with study.training(folder / cheat.partition(":")[0]) as training:
                yield f"-- {cheat}"
                yield from seen(study, training, "hospital-4", "hospital-1")
                if training.end() != code or expected not in training.log:
                    yield f"EXPECTED: exit code {code} and {expected!r}"
                assert "4711" not in training.log


def changed_files(folder: Path) -> Iterator[str]:
    """Exchange the roster of a hospital whose SuperNode runs; then, in the middle of a run, its table."""
    with Study(folder) as study:
        roster = folder / "hospital-4" / "roster.json"
        honest = roster.read_text()
        other = re.search(r'"hospital-2": "(\w+)"', honest)
        assert other is not None
        roster.write_text(honest.replace(other[1], re.findall(r'"hospital-1": "(\w+)"', honest)[0]))
        with study.training(folder / "roster") as training:
            yield from seen(study, training, "hospital-4")
            assert training.end() == 1
            assert "'hospital-4'" in training.log
        roster.write_text(honest)
        with study.training(folder / "table") as training:
            study.wait("hospital-4", "replied to landmarks")
            with (folder / "hospital-4.csv").open("a") as table:
                table.write("50,120,1\n")
            yield from seen(study, training, "hospital-4")
            assert training.end() == 1
            assert "'hospital-4' refuses to go on: its table has changed" in training.log


FAULTS: dict[str, Fault] = {
    "killed": killed,
    "hanging": hanging,
    "executor-hanging": executor_hanging,
    "too-few-left": too_few_left,
    "superlink-killed": superlink_killed,
    "interrupted": interrupted,
    "garbage": garbage,
    "changed-files": changed_files,
}
