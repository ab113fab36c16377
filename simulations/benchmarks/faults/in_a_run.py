"""Faults in the middle of a training."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from simulations.benchmarks.faults.study import PAN_SVM, Study, TrainingProcess
from simulations.deployment.trial import CONNECTED

Fault = Callable[[Path], Iterator[str]]

PHASES = ("join", "moments", "landmarks", "warm_start", "cuts", "scores")
"""A task of each phase of PAN-SVM, in their order."""

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
    yield from _lost_in_each_phase(folder, signal.SIGKILL)


def hanging(folder: Path) -> Iterator[str]:
    """Let a SuperNode and its ClientApp hang (SIGSTOP) in each phase: two trainings of six hospitals, three in each."""
    yield from _lost_in_each_phase(folder, signal.SIGSTOP)


def _lost_in_each_phase(folder: Path, number: int) -> Iterator[str]:
    with Study(folder, 6, {**PAN_SVM, "timeout": 120.0}) as study:
        for phases in (PHASES[:3], PHASES[3:]):
            lost = study.names[3:]
            for name in lost:
                study.start(name, wait=False)
            for name in lost:
                study.wait(name, CONNECTED)
            with study.training(folder / phases[0]) as training:
                for task, name in zip(phases, lost, strict=True):
                    study.wait(name, f"asked for {task}")
                    study.signal(name, number)
                training.end()
                for name in lost:
                    study.signal(name, signal.SIGCONT)
                yield from seen(study, training, *lost)
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
    "too-few-left": too_few_left,
    "superlink-killed": superlink_killed,
    "interrupted": interrupted,
    "garbage": garbage,
    "changed-files": changed_files,
}
