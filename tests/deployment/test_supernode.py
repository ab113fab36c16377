"""What keeps a hospital's SuperNode running: one at a time, started again, and ended where it stands still."""

import errno
import io
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key

from clients.cli import hospital as command
from clients.cli.hospital import UNKNOWN
from clients.deployment import supernode
from clients.deployment.hospital import state_of
from clients.deployment.node_file import set_key
from clients.deployment.outside_parts import pin_parts
from clients.deployment.own_folder import takes_files
from clients.deployment.status import CRITICAL, OK, WARNING, Line, is_running, read_status, status_of
from clients.deployment.supernode import run_supernode, running_alone
from clients.ledger.ledger import Charge, Ledger, now
from clients.node import node
from clients.node.node_config import AUTHORITY_FILE, read_node_config
from clients.node.node_status import REFUSED, STATUS_FILE, UNUSABLE, NodeStatus
from clients.runs import RUNS_FILE, LoggedRun, write_runs
from flower_pansvm.errors import SettingError
from flower_pansvm.study import connection, processes
from flower_pansvm.study.invitation import INVITATION_FILE
from tests.command_line import Run
from tests.deployment.conftest import Study


def test_a_second_supernode_of_a_folder_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with running_alone(tmp_path):
        assert is_running(tmp_path)
        with pytest.raises(SettingError, match="already"), running_alone(tmp_path):
            pass
    assert not is_running(tmp_path)
    (tmp_path / STATUS_FILE).write_text("of the last one")
    with running_alone(tmp_path):
        assert not (tmp_path / STATUS_FILE).exists()


def test_one_that_waits_for_the_coordinator_runs(
    hospital: Path, pansvm: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(connection, "wait_for_coordinator", lambda *_: seen.append(str(lines_of(hospital))))
    monkeypatch.setattr(supernode, "run_supernode", lambda *_: None)
    monkeypatch.setattr(command.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0))
    pansvm("hospital", "start", "--folder", str(hospital))
    assert "waiting for the coordinator" in seen[0]


@pytest.fixture
def hospital(joined: Study, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(processes, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(processes, "LOOK_SECONDS", 0.01)
    return joined.hospitals["north"]


def run(
    folder: Path, joined: Study, monkeypatch: pytest.MonkeyPatch, *commands: str
) -> tuple[str, list[str]]:
    """Let the SuperNode be one shell command after the other; return the error and what was shown."""
    left, said = list(commands), []
    original = supernode.started_process
    monkeypatch.setattr(
        supernode, "started_process", lambda _, *others: original(["sh", "-c", left.pop(0)], *others)
    )
    with pytest.raises(SettingError) as caught:
        run_supernode(folder, said.append)
    assert left == []
    return str(caught.value), said


def test_one_that_ends_is_started_again_and_the_line_says_how_it_has_ended(
    hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, said = run(
        hospital, joined, monkeypatch, "kill -9 $$", "exit 7", "exit 143", "exit 200", f"exit {UNUSABLE}"
    )
    ended = [line for line in said if "started again" in line]
    assert len(ended) == 4
    assert "SIGTERM" in ended[2]
    assert "by force" in ended[0]
    assert "exit code 7" in ended[1]


@pytest.mark.parametrize(("code", "told"), [(REFUSED, "invitation 1"), (UNUSABLE, "mend")])
def test_one_that_cannot_run_ends_the_command_with_a_sentence(
    code: int, told: str, hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    error, said = run(hospital, joined, monkeypatch, f"echo 'Error: why'; exit {code}")
    assert told in error
    assert any(line.endswith("Error: why") for line in said)


def test_one_that_stands_still_is_ended_by_force(
    hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supernode, "SILENT_SECONDS", 5.0)
    writes = f"for i in 1 2 3 4 5 6; do sleep .05; echo {{}} > {STATUS_FILE}; done; exec sleep 600"
    _, said = run(hospital, joined, monkeypatch, writes, f"exit {UNUSABLE}")
    assert any("stood still" in line for line in said)


def test_one_in_a_folder_that_is_no_longer_to_be_written_to_ends_the_command_with_a_sentence(
    hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supernode, "SILENT_SECONDS", 0.0)
    monkeypatch.setattr("clients.deployment.supernode.takes_files", lambda _: False)
    error, _ = run(hospital, joined, monkeypatch, "exec sleep 600")
    assert str(hospital) in error
    assert "read-only" in error


def test_one_is_not_started_again_with_software_that_was_not_accepted(
    hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = iter([joined.coordinator.invitation().software["hash"], "of another version"])
    monkeypatch.setattr("clients.deployment.hospital.hash_of", lambda _: next(hashes))
    error, said = run(hospital, joined, monkeypatch, "exit 7")
    assert "of another version" in error
    assert len(said) == 1


def test_a_log_that_nobody_reads_any_more_ends_the_command(
    hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the SuperNode stands still once the pipe is full, and goes on to say that it lives."""

    def show(_: str) -> None:
        raise BrokenPipeError

    original = supernode.started_process
    writes = ["sh", "-c", "exec yes"]
    monkeypatch.setattr(supernode, "started_process", lambda _, *others: original(writes, *others))
    with pytest.raises(BrokenPipeError):
        run_supernode(hospital, show)


def lines_of(folder: Path) -> dict[str, Line]:
    return {line.name: line for line in status_of(folder)}


def test_the_status_of_a_hospital_that_does_not_run_is_critical(hospital: Path) -> None:
    found = lines_of(hospital)
    assert found["connection"].code == CRITICAL
    assert found["software"].code == OK
    assert "none" in found["last question"].text


def test_the_status_of_one_that_runs_says_since_when_and_what_it_was_asked(hospital: Path) -> None:
    with running_alone(hospital):
        written = NodeStatus(hospital)
        assert lines_of(hospital)["connection"].code == CRITICAL
        written.set(connected_since="2026-01-02T03:04:05Z")
        written.set(question={"time": "2026-01-02T03:05:00Z", "task": "join", "run": "17"}, answering=True)
        found = lines_of(hospital)
        assert found["connection"] == Line("connection", "connected since 2026-01-02T03:04:05Z")
        assert found["last question"].text == "join at 2026-01-02T03:05:00Z"
        assert found["run"].text == "17, answering"
        written.set(trouble="The disk is full.", connected_since=None)
        assert "The disk is full." in lines_of(hospital)["connection"].text
        assert "run" not in lines_of(hospital)
        os.utime(hospital / STATUS_FILE, (0, 0))
        assert "standing still" in lines_of(hospital)["connection"].text


def test_one_that_is_started_has_no_status_of_the_last_one(
    hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    NodeStatus(hospital).set(connected_since="2026-01-02T03:04:05Z")
    _, said = run(hospital, joined, monkeypatch, f"ls {STATUS_FILE}; exit {UNUSABLE}")
    assert any("No such file" in line for line in said)


def test_one_that_has_ended_is_not_connected_in_the_pause_before_its_next_start(
    hospital: Path, joined: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    NodeStatus(hospital).set(connected_since="2026-01-02T03:04:05Z")
    (hospital / STATUS_FILE).rename(hospital / "kept")
    seen: list[str] = []
    monkeypatch.setattr(
        supernode, "keep_running", lambda _, run, *__: seen.append(f"{run()} {lines_of(hospital)}")
    )
    command = ["sh", "-c", f"cp kept {STATUS_FILE}; exit 7"]
    original = supernode.started_process
    monkeypatch.setattr(supernode, "started_process", lambda _, *others: original(command, *others))
    with running_alone(hospital):
        run_supernode(hospital, seen.append)
    assert "standing still" in seen[-1]


def test_a_full_disk_is_critical_and_one_that_lives_beside_it_does_not_stand_still(
    hospital: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "disk" not in lines_of(hospital)
    with running_alone(hospital):
        written = NodeStatus(hospital)
        written.set(connected_since="2026-01-02T03:04:05Z")
        os.utime(hospital / STATUS_FILE, (0, 0))

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("clients.node.node_status.write", full)
        written.set()
        free = "clients.deployment.status.disk_usage"
        monkeypatch.setattr(free, lambda _: SimpleNamespace(free=0))
        found = lines_of(hospital)
        assert found["connection"] == Line("connection", "connected since 2026-01-02T03:04:05Z")
        assert found["disk"].code == CRITICAL
        assert str(hospital) in found["disk"].text


def test_one_that_is_started_on_a_full_disk_is_not_ended_as_standing_still(
    hospital: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is looked at is the file's time, and the last SuperNode's file has been removed."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("clients.node.node_status.write", full)
    with running_alone(hospital):
        written = NodeStatus(hospital)
        before = (hospital / STATUS_FILE).stat().st_mtime_ns
        os.utime(hospital / STATUS_FILE, (0, 0))
        written.set()
        assert (hospital / STATUS_FILE).stat().st_mtime_ns >= before
        assert stat.S_IMODE((hospital / STATUS_FILE).stat().st_mode) == 0o600
        assert lines_of(hospital)["connection"].code == CRITICAL


def test_a_folder_that_cannot_be_written_to_is_critical(
    hospital: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clients.deployment.status.takes_files", lambda path: path != hospital)
    assert lines_of(hospital)["disk"].code == CRITICAL
    assert str(hospital) in lines_of(hospital)["disk"].text


def test_an_invitation_that_was_accepted_and_holds_no_more_is_critical(hospital: Path) -> None:
    """Its certificate has expired, or its file is damaged."""
    (hospital / INVITATION_FILE).write_text("{")
    found = lines_of(hospital)
    assert found["invitation"].code == CRITICAL
    assert found["connection"].code == CRITICAL
    (hospital / INVITATION_FILE).unlink()
    with pytest.raises(SettingError, match="no invitation yet"):
        status_of(hospital)


def test_a_package_that_is_not_as_it_was_pinned_is_critical(hospital: Path, joined: Study) -> None:
    """It was upgraded or removed under the hospital, as with other packages of the machine."""
    assert lines_of(hospital)["software"].code == OK
    pin_parts(hospital, {"all-pairs": "my-package 1.0, hash abc"})
    assert lines_of(hospital)["software"].code == OK  # the policy names it no more
    set_key(hospital, "aggregation", "all-pairs")
    assert lines_of(hospital)["software"].code == CRITICAL
    assert "my-package 1.0" in lines_of(hospital)["software"].text
    with pytest.raises(SettingError, match=r"all-pairs is of another package.*my-package 1\.0"):
        joined.check()


def test_whether_a_folder_takes_files_is_tried(tmp_path: Path) -> None:
    assert takes_files(tmp_path)
    assert not list(tmp_path.iterdir())
    assert not takes_files(tmp_path / "missing")
    assert not takes_files(Path("/proc/self"))


def test_a_folder_in_which_only_empty_files_fit_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the account's quota is used up: the disk has free room, and a file of no bytes can be made."""

    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr("clients.deployment.own_folder.TemporaryFile", lambda **_: Full())
    assert not takes_files(tmp_path)


def test_a_node_config_that_was_changed_under_a_supernode_is_critical(hospital: Path) -> None:
    with running_alone(hospital):
        NodeStatus(hospital).set(connected_since="2026-01-02T03:04:05Z", config=read_node_config(hospital))
        assert "configuration" not in lines_of(hospital)
        set_key(hospital, "colluders", 2)
        assert lines_of(hospital)["configuration"].code == CRITICAL
    assert "configuration" not in lines_of(hospital)


def test_a_state_folder_that_is_open_to_others_is_critical_since_runs_are_refused(hospital: Path) -> None:
    state_of(hospital).chmod(0o755)
    assert lines_of(hospital)["disk"].code == CRITICAL
    state_of(hospital).chmod(0o700)
    assert "disk" not in lines_of(hospital)


def test_software_that_was_installed_and_accepted_under_a_supernode_is_critical(
    hospital: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_alone(hospital):
        for starts_with, code in ((node.hash_of, OK), (lambda _: "of the version before", CRITICAL)):
            monkeypatch.setattr(node, "hash_of", starts_with)
            authority, key = (hospital / AUTHORITY_FILE).read_bytes(), generate_private_key(SECP384R1())
            node.HospitalNode(hospital, "localhost:1", authority, key)
            assert lines_of(hospital)["software"].code == code
    assert lines_of(hospital)["software"].code == OK


def test_the_run_of_a_supernode_that_runs_no_longer_is_its_last(hospital: Path) -> None:
    question = {"time": "2026-01-02T03:05:00Z", "task": "join", "run": "17"}
    NodeStatus(hospital).set(connected_since="2026-01-02T03:04:05Z", question=question, answering=True)
    found = lines_of(hospital)
    assert "run" not in found
    assert found["last run"].text == "17"
    with running_alone(hospital):
        NodeStatus(hospital).set(connected_since="2026-01-02T03:04:05Z", question=question, answering=True)
        assert lines_of(hospital)["run"].text == "17, answering"
        NodeStatus(hospital).set(connected_since="2026-01-02T03:04:05Z", question=question)
        assert lines_of(hospital)["last run"].text == "17"


WRITTEN = {"written": now(), "connected_since": now(), "trouble": "", "question": None}


@pytest.mark.parametrize(
    "content",
    [
        *({"a": 1}, {"written": "x"}, [], {**WRITTEN, "written": "2026-01-02"}, {**WRITTEN, "trouble": 1}),
        *(
            {**WRITTEN, "question": {"time": now()}},
            {**WRITTEN, "question": {"time": 1, "task": "", "run": ""}},
        ),
        {**WRITTEN, "connected_since": 5},
    ],
)
def test_a_damaged_status_file_says_nothing(content: object, hospital: Path) -> None:
    (hospital / STATUS_FILE).write_text(json.dumps(WRITTEN))
    assert read_status(hospital)
    (hospital / STATUS_FILE).write_text(json.dumps(content))
    assert read_status(hospital) == {}
    with running_alone(hospital):
        assert lines_of(hospital)["connection"].code == CRITICAL


def test_a_folder_of_another_account_is_not_called_critical(
    hospital: Path, monkeypatch: pytest.MonkeyPatch, pansvm: Run
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: hospital.stat().st_uid + 1)
    code, _, error = pansvm("hospital", "status", "--folder", hospital)
    assert code == UNKNOWN
    assert "account of the SuperNode" in error


def test_the_status_warns_of_a_budget_that_is_nearly_spent(
    hospital: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(0.2, "", charges=(Charge("1", "", "", "train", 9.0),))
    monkeypatch.setattr("clients.deployment.status.read_ledger", lambda _: ledger)
    assert lines_of(hospital)["budget"].code == WARNING


def test_the_command_for_monitoring_tells_by_its_exit_code_what_is_wrong(
    hospital: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "flower_pansvm", "hospital", "status", "--json", "--folder"]
    done = subprocess.run([*command, str(hospital)], capture_output=True, text=True, check=False)
    assert done.returncode == CRITICAL
    assert json.loads(done.stdout)["code"] == CRITICAL
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("wrong", [["--jsno"], ["--folder"], ["north"]])
def test_a_mistaken_option_is_not_called_critical(wrong: list[str], pansvm: Run) -> None:
    assert pansvm("hospital", "status", *wrong)[0] == UNKNOWN


def test_folders_above_the_ledgers_are_closed_whatever_the_umask(tmp_path: Path) -> None:
    program = "from clients.ledger.home import tables_home; tables_home()"
    home = tmp_path / "a" / "b"
    for mask in ("0", "0777"):
        script = f"umask {mask}; exec {sys.executable} -c '{program}'"
        environment = {**os.environ, "XDG_STATE_HOME": str(home / mask)}
        subprocess.run(["sh", "-c", script], env=environment, check=True)
    for folder in (home.parent, home, home / "0", home / "0777" / "pansvm" / "tables"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_full_disk_is_told_before_a_supernode_starts(
    hospital: Path, pansvm: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts, since there may be room before the next run; its log says what refuses runs."""
    monkeypatch.setattr("clients.deployment.status.disk_usage", lambda _: SimpleNamespace(free=0))
    code, out, _ = pansvm("hospital", "check", "--for-log", "--folder", hospital)
    assert code == 0
    assert str(hospital) in next(line for line in out.splitlines() if line.startswith("warning: disk"))


def test_the_status_warns_of_a_month_that_has_all_its_runs(hospital: Path) -> None:
    assert "runs" not in lines_of(hospital)
    set_key(hospital, "runs-a-month", 2)
    times, log = (time.time() - 5, time.time() - 40 * 24 * 3600, time.time() + 3600), hospital / "state"
    write_runs(log, {"a": LoggedRun("a" * 64, "dp-svm", "", "dp", {}, 0.0, begun=times)})
    assert lines_of(hospital)["runs"].code == OK
    write_runs(log, {"a": LoggedRun("a" * 64, "dp-svm", "", "dp", {}, 0.0, begun=(*times, times[0]))})
    assert lines_of(hospital)["runs"].code == WARNING
    (log / RUNS_FILE).write_text("damaged")
    assert lines_of(hospital)["approval"].code == CRITICAL
