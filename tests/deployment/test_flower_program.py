"""How a coordinator runs Flower's programs: they end with their parent, and no token is in a command line."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from flwr.supercore.constant import ExecutorType, TaskType
from flwr.supercore.superexec import run_superexec
from flwr.supercore.superexec.executor import factory
from flwr.supercore.superexec.executor.types import ExecutionSpec

from strategies.deployment import flower_program
from strategies.deployment.flower_program import TOKEN, TokenFileExecutor, main

SECONDS = 60.0
POPEN = subprocess.Popen
PARENT = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", sys.argv[1], str(os.getpid()), *sys.argv[2:]], start_new_session=True)
time.sleep(600)
"""
CHILD = """
import subprocess, sys, time
from pathlib import Path
from strategies.deployment.flower_program import end_with
end_with(int(sys.argv[1]))
grandchild = subprocess.Popen(["sleep", "600"])
Path(sys.argv[2]).write_text(str(grandchild.pid))
time.sleep(600)
"""


def wait_until(path: Path, there: bool) -> None:
    deadline = time.monotonic() + SECONDS
    while path.exists() != there:
        assert time.monotonic() < deadline, path
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_one_whose_parent_is_killed_ends_with_all_that_it_has_started(tmp_path: Path) -> None:
    told = tmp_path / "told"
    with subprocess.Popen([sys.executable, "-c", PARENT, CHILD, str(told)]) as parent:
        wait_until(told, True)
        grandchild = Path("/proc") / told.read_text()
        time.sleep(1)
        assert grandchild.exists()
        parent.kill()
    deadline = time.monotonic() + SECONDS
    while grandchild.exists() and "State:\tZ" not in (grandchild / "status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_token_of_a_training_is_in_a_private_file_as_long_as_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "flwr-serverapp"
    script.parent.mkdir()
    script.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/asked.new; mv {tmp_path}/asked.new {tmp_path}/asked\ncat\n'
    )
    script.chmod(0o700)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    folder = tmp_path / "flower"
    folder.mkdir()
    (folder / f"{TOKEN}old").write_text("of one that was killed")
    mask = os.umask(0)
    read, written = os.pipe()
    try:
        monkeypatch.setattr(flower_program.subprocess, "Popen", _reading(read))
        spec = ExecutionSpec(
            TaskType.SERVER_APP, "127.0.0.1:1", "5ec7e7", False, "ca.crt", False, 17, True, 1
        )
        executor = TokenFileExecutor(folder)
        executor.launch(spec)
        (file,) = folder.iterdir()
        assert file.read_text() == "5ec7e7"
        executor.launch(replace(spec, token="1a7er"))  # of the same training, which starts slowly
        assert [one.read_text() for one in folder.iterdir()] == ["1a7er"]
        assert file.stat().st_mode & 0o777 == 0o600
        wait_until(tmp_path / "asked", True)
        asked = (tmp_path / "asked").read_text()
        assert f"--token-file {file} --root-certificates ca.crt --parent-pid 17" in asked
        assert "5ec7e7" not in asked
    finally:
        os.umask(mask)
        os.close(written)
        os.close(read)
    wait_until(file, False)
    monkeypatch.setattr(flower_program.subprocess, "Popen", _reading(subprocess.DEVNULL))
    executor.launch(spec)  # once more after its end
    (again,) = folder.iterdir()
    assert again != file
    wait_until(again, False)


def _reading(descriptor: int) -> object:
    """Return Popen, of a process that runs until a pipe is closed."""
    return lambda command, **options: POPEN(command, stdin=descriptor, **options)


def test_flowers_superexec_takes_the_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks it up by names that another version of Flower's may not have."""
    made: list[object] = []

    class Entry:
        def select(self, **_: str) -> list["Entry"]:
            return [self]

        def load(self) -> object:
            return lambda: made.append(run_superexec.get_executor(ExecutorType.SUBPROCESS))

    monkeypatch.setattr(factory, "SubprocessExecutor", factory.SubprocessExecutor)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(flower_program, "end_with", lambda _: None)
    monkeypatch.setattr(
        flower_program, "distribution", lambda _: type("Flower", (), {"entry_points": Entry()})
    )
    monkeypatch.setenv("FLWR_HOME", str(tmp_path))
    main("1", "flower-superexec", "--a")
    assert sys.argv == ["flower-superexec", "--a"]
    assert isinstance(made[0], TokenFileExecutor)
