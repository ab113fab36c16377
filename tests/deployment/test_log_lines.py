"""Logs of Flower's in plain lines: nothing that is wrong is lost."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from flower_pansvm.study.log_lines import plain_lines, say

TRACEBACK = ["Traceback (most recent call last):\n", '  File "app.py", line 1, in main\n', "    run()\n"]


def shown(*lines: str) -> list[str]:
    return [line[21:] for line in plain_lines(lines)]


def test_what_says_no_more_than_that_flower_works_is_left_out() -> None:
    assert shown(
        "\x1b[92mINFO \x1b[0m:      Starting Flower SuperExec\n",
        "INFO :      [Fleet.GetRun] Requesting `Run` for run_id=7\n",
        "INFO :      [Fleet.ActivateNode] Activated node_id=7\n",
        "INFO :      \n",
    ) == ["[Fleet.ActivateNode] Activated node_id=7"]


def test_warnings_and_errors_are_never_left_out() -> None:
    for level in ("WARNING", "ERROR", "CRITICAL"):
        assert shown(f"{level} :   Received successfully\n") == [f"{level}: Received successfully"]


def test_a_key_that_is_not_there_yet_is_told_in_words() -> None:
    (line,) = shown(
        "ERROR :   [/v1/fleet/activate-node][ApiError:2004] Attempted to register SuperNode with public key: "
        "b'-----BEGIN PUBLIC KEY-----\\nMHYw\\n-----END PUBLIC KEY-----\\n', exception: No SuperNode found with the "
        "given public key.\n"
    )
    assert line.startswith("ERROR: a SuperNode was not let in")
    assert "BEGIN" not in line


@pytest.mark.parametrize(
    "said",
    [
        "flower_pansvm.errors.FederationError: 0 of 3 sites are connected.",
        "httpx.HTTPStatusError: Server error '500 Internal Server Error' for url 'https://127.0.0.1/x'",
    ],
)
def test_an_error_of_this_project_or_the_server_has_its_text_and_no_traceback(said: str) -> None:
    assert shown(*TRACEBACK, f"{said}\n", "INFO :      after\n") == [said, "after"]


def test_the_traceback_of_any_other_error_stays() -> None:
    lines = shown("before\n", *TRACEBACK, "ValueError\n")
    assert lines == ["before", *(line.rstrip() for line in TRACEBACK), "ValueError"]
    assert shown(*TRACEBACK) == [line.rstrip() for line in TRACEBACK]


@pytest.mark.parametrize("error", [errno.EROFS, errno.EIO, errno.EDQUOT])
def test_where_a_disk_takes_no_line_nothing_ends(error: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(sys, "stdout", SimpleNamespace(write=fail))
    say("a line")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_on_a_full_disk_a_line_is_lost_and_nothing_ends() -> None:
    """Of a pipe that nobody reads the command ends, as all do."""
    program = "import sys; from flower_pansvm.study.log_lines import say; say('a'); say('b'); sys.stderr.write('on')"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.stderr.startswith("on")


def test_a_command_that_was_started_with_its_output_closed_goes_on() -> None:
    program = "import sys; from flower_pansvm.study.log_lines import say; say('a'); sys.stderr.write('on')"
    closing = ["sh", "-c", 'exec "$0" -c "$1" >&-', sys.executable, program]
    assert subprocess.run(closing, stderr=subprocess.PIPE, text=True, check=False).stderr == "on"
