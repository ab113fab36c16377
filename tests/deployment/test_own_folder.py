"""A hospital's folder is its SuperNode's account's alone, whoever types a command."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.deployment.own_folder import own_folder
from clients.node.node_config import NODE_FILE, read_node_config
from clients.runs import RUNS_FILE, LoggedRun, read_runs, write_runs
from flower_pansvm.errors import SettingError
from tests.command_line import Run
from tests.deployment.conftest import Study

COMMANDS = {
    "accept": lambda study: (study.invitation, "--code", study.coordinator.invitation().code),
    "approve": lambda _: ("A" * 10, "--yes"),
    **dict.fromkeys(("check", "start", "runs"), lambda _: ()),
}


def content(folder: Path) -> dict[Path, tuple[bytes, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_uid) for path in files}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_of_another_account_writes_into_the_folder(
    command: str, joined: Study, pansvm: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root can, and its files are its own: the SuperNode would not read them."""
    folder = joined.hospitals["north"]
    arguments = COMMANDS[command](joined)
    write_runs(folder / "state", {"a": LoggedRun("a" * 64, "pan-svm", "", "perturbed", {}, time.time())})
    before = content(folder)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    assert "sudo -H -u" in pansvm.error("hospital", command, *arguments, "--folder", folder)
    assert content(folder) == before


@pytest.mark.parametrize(("command", "argument"), {"start": "", "train": "--out=x", "invite": "x"}.items())
def test_no_command_of_another_account_uses_a_coordinators_folder(
    command: str, argument: str, joined: Study, pansvm: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root's server would refuse the account's `train`, and that of the account root's, which waited for it."""
    folder = joined.coordinator.folder
    before = content(folder)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    told = pansvm.error("coordinator", command, *filter(None, [argument]), "--folder", folder)
    assert "sudo -H -u" in told
    assert content(folder) == before


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_a_folder_that_others_can_change_is_told(mode: int, joined: Study, pansvm: Run) -> None:
    folder = joined.hospitals["north"]
    folder.chmod(mode)
    assert "chmod go-w" in pansvm.error("hospital", "check", "--folder", folder)
    folder.chmod(0o700)
    (folder / NODE_FILE).chmod(0o600 | mode & 0o022)
    assert f"write to {folder / NODE_FILE}" in pansvm.error("hospital", "check", "--folder", folder)


def test_a_node_config_of_another_account_in_ones_own_folder_is_given_back(
    joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, whole = joined.hospitals["north"], Path.stat
    other = os.stat_result((0o100600, 0, 0, 1, os.getuid() + 1, 0, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda self: other if self.name == NODE_FILE else whole(self))
    with pytest.raises(SettingError, match=r"chown -R .*north"):
        own_folder(folder)


def test_a_folder_that_is_not_there_is_told_by_who_reads_it(tmp_path: Path) -> None:
    assert own_folder(tmp_path / "none") == tmp_path / "none"


@pytest.mark.parametrize(
    ("file", "read"),
    [(NODE_FILE, read_node_config), (f"state/{RUNS_FILE}", lambda own: read_runs(own / "state"))],
)
def test_a_file_that_this_account_cannot_read_is_not_called_missing_or_damaged(
    file: str, read: Callable[[Path], object], joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever believes it makes another hospital, or removes what was approved."""

    def refuse(path: Path, *_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    folder = joined.hospitals["north"]
    (folder / file).write_text(json.dumps({}))
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(SettingError, match="cannot be read by this account"):
        read(folder)
