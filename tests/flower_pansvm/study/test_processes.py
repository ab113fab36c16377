"""Processes end with the ``with`` block that started them, and so do their children."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from flower_pansvm.study.processes import exit_on_signals, flower_environment, started_process

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def assert_ended(pid: int) -> None:
    """Assert that a process is gone, once the init process had time to bury it."""
    deadline = time.monotonic() + 60
    while exists(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not exists(pid)


def test_process_and_its_child_end_with_the_block(tmp_path: Path) -> None:
    with started_process([sys.executable, "-c", PARENT], tmp_path, os.environ) as process:
        child = int(process.stdout.readline())
        assert exists(child)
    assert process.returncode == -signal.SIGKILL
    assert_ended(child)


@pytest.mark.slow
def test_child_ends_even_if_its_parent_has_gone(tmp_path: Path) -> None:
    with started_process(
        [sys.executable, "-c", PARENT.removesuffix("time.sleep(600)\n")], tmp_path, os.environ
    ) as process:
        child = int(process.stdout.readline())
        process.wait(timeout=60)
        assert exists(child)
    assert_ended(child)


def test_sigterm_leaves_the_block_properly() -> None:
    # Ray, if a test of this process has used it, has its own.
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit) as caught, exit_on_signals():
            signal.raise_signal(signal.SIGTERM)
        assert caught.value.code == 128 + signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with exit_on_signals():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_log_is_read_as_it_is_written_whatever_the_encoding_of_the_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    command = [sys.executable, "-c", "print('M\\xfcnchen')"]
    with started_process(command, tmp_path, flower_environment(tmp_path)) as process:
        assert process.stdout.readline() == "M\xfcnchen\n"


@pytest.mark.parametrize("name", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_what_flower_prints_has_no_colours_also_where_they_are_forced(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    printed = Console(_environ=flower_environment(tmp_path), width=80)
    with printed.capture() as capture:
        printed.print_json('{"success": true}')
    assert json.loads(capture.get()) == {"success": True}


def test_what_is_set_for_another_flower_does_not_reach_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = flower_environment(tmp_path)
    for name in ("FLWR_HOME", "FLWR_LOG_LEVEL", "FLWR_TELEMETRY_ENABLED", "FLWR_OIDC_ENABLED"):
        monkeypatch.setenv(name, "of another use")
    assert flower_environment(tmp_path) == before
