"""Faults of network, servers and processes at a real SuperLink and real hospitals: all are well again by themselves."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clients.deployment.status import CRITICAL, status_of
from simulations.disturbance import variables_for
from simulations.study_processes import RunningStudy, processes_about
from simulations.trial import CONNECTED
from tests.deployment.test_faults import LOCAL_ONLY

BACK = "the connection is back"


@contextmanager
def evil_study(folder: Path) -> Iterator[tuple[RunningStudy, Path]]:
    """Run a study whose SuperLink does what a file says; and give that file."""
    evil, environment = variables_for(folder)
    try:
        with RunningStudy(folder, LOCAL_ONLY, hospitals=3, environment=environment) as study:
            yield study, evil
    finally:
        assert not processes_about(folder)


def numbers(folder: Path, command: str) -> list[int]:
    """Return the numbers of the processes of a hospital or the coordinator that a command runs in."""
    return list(processes_about(folder, command))


@pytest.mark.slow(minutes=8)
def test_after_each_fault_all_hospitals_are_back_and_a_training_ends_well(tmp_path: Path) -> None:
    with evil_study(tmp_path) as (study, evil):
        coordinator, first = tmp_path / "coordinator", study.names[0]

        study.forget()
        servers = numbers(coordinator, "flower-superlink")
        for number in servers:
            os.kill(number, signal.SIGSTOP)
        time.sleep(75)
        assert any(line.code == CRITICAL for line in status_of(tmp_path / first))
        for number in servers:
            os.kill(number, signal.SIGCONT)
        for name in study.names:
            study.wait(name, BACK)

        study.forget()
        evil.write_text("full")
        for name in study.names:
            study.wait(name, "500")
        evil.write_text("")
        for name in study.names:
            study.wait(name, BACK)

        for name, command, sign in (
            (first, "clients.node.node", CONNECTED),
            ("coordinator", "flower-superexec", "is started again"),
            ("coordinator", "flower-superlink", "is started again"),
        ):
            study.forget()
            for number in numbers(tmp_path / name, command):
                os.kill(number, signal.SIGKILL)
            study.wait(name, sign)
            if command == "flower-superlink":
                for hospital in study.names:
                    study.wait(hospital, BACK)

        study.forget()
        (starting,) = numbers(tmp_path / first, "hospital start")
        os.kill(starting, signal.SIGKILL)
        study.start(first)

        study.forget()
        (starting,) = numbers(coordinator, "coordinator start")
        os.kill(starting, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while processes_about(coordinator):
            assert time.monotonic() < deadline, processes_about(coordinator)
            time.sleep(0.1)
        study.start("coordinator")

        with study.training(tmp_path / "results") as training:
            assert training.end() == 0, training.log
        assert not any(line.code == CRITICAL for line in status_of(tmp_path / first) if line.name != "budget")


@pytest.mark.slow(minutes=8)
def test_a_training_outlasts_a_superlink_that_is_killed_and_names_a_hospital_that_is(tmp_path: Path) -> None:
    with evil_study(tmp_path) as (study, evil):
        with study.training(tmp_path / "link") as training:
            study.wait(study.names[0], "asked for")
            commands = "\n".join(processes_about(tmp_path / "coordinator").values())
            assert "flwr-serverapp" in commands
            assert "--token " not in commands
            study.signal("coordinator", "flower-superlink")
            assert training.end() == 0, training.log
        with study.training(tmp_path / "lost") as training:
            study.wait(study.names[0], "asked for")
            evil.write_text("lost")
            study.wait("coordinator", "is started again")
            assert training.end() == 0, training.log
        with study.training(tmp_path / "node") as training:
            study.wait(study.names[0], "asked for local_scores")
            study.signal(study.names[0], "clients.node.node")
            assert training.end() == 1, training.log
            assert study.names[0] in training.log


@pytest.mark.slow(minutes=8)
def test_a_superlink_that_sends_what_it_likes_ends_no_hospital(tmp_path: Path) -> None:
    with evil_study(tmp_path) as (study, evil):
        before = {name: numbers(tmp_path / name, "clients.node.node") for name in study.names}
        for kind, code in {"agent": 0, "toml": 1, "zip": 1, "bomb": 1, "": 0}.items():
            evil.write_text(kind)
            with study.training(tmp_path / f"results-{kind}") as training:
                assert training.end() == code, training.log
                assert code == 0 or all(f"'{name}'" in training.log for name in study.names)
        assert before == {name: numbers(tmp_path / name, "clients.node.node") for name in study.names}
