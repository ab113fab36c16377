"""What the coordinator is told when a training does not end well; `flwr` is a script here."""

import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_public_key
from flwr.supercore.state.schema.linkstate_models import LinkStateBase, Node
from flwr.supercore.utils import uint64_to_int64
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from clients.deployment.hospital import make_hospital
from flower_pansvm.bundle import PACKAGES
from flower_pansvm.errors import SettingError
from flower_pansvm.study.connection import NotThereError
from strategies.deployment import server, superlink
from strategies.deployment.coordinator import FLOWER_FOLDER
from strategies.deployment.server import forget_who_is_back, register_hospitals
from strategies.deployment.superlink import RunFailedError, checkout, registered, train
from tests.deployment.conftest import Study

FLWR = """\
echo "$@" >> {folder}/asked
case "$1" in
  run) echo "Successfully started run 7"; echo "waiting for node 17, node 18 since 15 s" ;;
  *) {answer} ;;
esac"""
FAILED = """\
echo '{"success": true, "runs": [{"run-id": "7", "status": "finished:failed", "status-details": "Why."}]}'"""
SILENT = FAILED.replace("Why.", "Node 17 is silent.")

Flwr = Callable[[str], None]


@pytest.fixture
def answering(tmp_path: Path, flwr: Callable[[str], None]) -> Flwr:
    """Return a function that says how `flwr` answers to everything but `flwr run`."""
    return lambda answer: flwr(FLWR.format(folder=tmp_path, answer=answer))


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """Return the folder of a run that has left two sums."""
    checkpoint = tmp_path / "stop ped" / "checkpoint"
    checkpoint.mkdir(parents=True)
    for name in ("settings.json", "00001-moments.npz", "00002-landmarks.npz"):
        (checkpoint / name).write_text("{}")
    return checkpoint.parent


def let_in(study: Study, nodes: Mapping[str, int]) -> None:
    """Have the SuperLink's database say that these nodes are let in, by their keys, and that others were."""
    engine = create_engine(f"sqlite:///{study.coordinator.folder / FLOWER_FOLDER / superlink.DATABASE}")
    told = [(node, load_ssh_public_key(key.encode()), "online") for key, node in nodes.items()]
    told.append((99, generate_private_key(SECP384R1()).public_key(), "unregistered"))
    with Session(engine) as database:
        LinkStateBase.metadata.create_all(engine)
        for node, key, status in told:
            octets = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
            database.add(Node(node_id=uint64_to_int64(node), public_key=octets, status=status))
        database.commit()
    engine.dispose()


def test_a_failed_training_says_why_and_how_to_go_on_by_this_command(
    invited: Study, answering: Flwr, stopped: Path
) -> None:
    answering(FAILED)
    with pytest.raises(RunFailedError) as caught:
        train(invited.coordinator, stopped, print, resume=True)
    assert "ended as 'finished:failed'. Why.\n" in str(caught.value)
    command = f"pansvm coordinator train --folder {invited.coordinator.folder}"
    assert f"kept (2 sums); go on with: {command}" in str(caught.value)
    assert f"--resume --out '{stopped}'" in str(caught.value)


def test_who_has_not_joined_yet_is_called_by_the_name_in_the_invitation(
    invited: Study, answering: Flwr, stopped: Path
) -> None:
    key = next(one.supernode_key for one in invited.registrations() if one.name == "south")
    let_in(invited, {key: 17})
    answering(SILENT)
    said: list[str] = []
    with pytest.raises(RunFailedError, match="'finished:failed'"):
        train(invited.coordinator, stopped, said.append, resume=True)
    assert any(line.endswith("  waiting for south, node 18 since 15 s") for line in said)


def test_who_is_not_connected_is_called_by_name(invited: Study, answering: Flwr, tmp_path: Path) -> None:
    keys = {one.name: one.supernode_key for one in invited.registrations()}
    let_in(invited, {keys[name]: number for number, name in enumerate(("north", "south", "west"), start=17)})
    answering(FAILED.replace("Why.", "0 of 3 sites are connected after 120 s."))
    said: list[str] = []
    with pytest.raises(RunFailedError, match=r"connected \(missing: north, south, west\) after 120 s"):
        train(invited.coordinator, tmp_path / "new", said.append)
    line = superlink.with_names("1 of 3 sites are connected (node 18) after 15 s", {"17": "a", "18": "b"})
    assert line == "1 of 3 sites are connected (missing: a) after 15 s"


@pytest.mark.parametrize(
    ("line", "answers", "told"),
    [
        ("", True, "The training has not begun after 0.5 s"),
        ("", False, "the server does not answer"),
        ("moments begins", False, "the server does not answer"),
        ("moments begins", True, "the server answers"),
    ],
)
def test_a_training_that_says_nothing_is_told_from_a_server_that_stands_still(
    line: str,
    answers: bool,
    told: str,
    invited: Study,
    flwr: Callable[[str], None],
    stopped: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(superlink, "SILENT_SECONDS", 0.5)
    said: list[str] = []

    def show(line: str) -> None:
        said.append(line)
        if "Successfully started run 7" in line and not answers:
            monkeypatch.setattr(superlink, "check_server", stand_still)

    def stand_still(*_: object) -> None:
        raise NotThereError("")

    echo = f'echo "{line}"; ' if line else ""
    flwr(
        f'case "$1" in run) echo "Successfully started run 7"; {echo}sleep 1.8; echo "round 2" ;; *) {FAILED} ;; esac'
    )
    with pytest.raises(RunFailedError):
        train(invited.coordinator, stopped, show, resume=True)
    assert sum(told in one for one in said) >= 1
    assert sum("training" in one for one in said) >= 2  # it is said again
    assert "round 2" in said[-1]


def test_a_command_of_flowers_that_gets_no_answer_ends(
    invited: Study, flwr: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(superlink, "ANSWER_SECONDS", 0.2)
    flwr("exec sleep 60")
    with pytest.raises(SettingError, match="stands still"):
        superlink.flwr(invited.coordinator, "ls")


def test_resume_is_not_offered_where_there_is_nothing(
    invited: Study, answering: Flwr, tmp_path: Path
) -> None:
    answering(FAILED)
    with pytest.raises(RunFailedError) as caught:
        train(invited.coordinator, tmp_path / "new", print)
    assert "--resume" not in str(caught.value)


def test_a_server_that_was_lost_is_to_be_started_again(
    invited: Study, answering: Flwr, stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(superlink, "LOST_SECONDS", 0.5)
    monkeypatch.setattr(superlink, "UNFINISHED_SECONDS", 0.2)
    answering("echo 'Connection to the SuperLink is unavailable' >&2; exit 1")
    with pytest.raises(RunFailedError, match="--resume"):
        train(invited.coordinator, stopped, print, resume=True)


def stopped_by_ctrl_c(invited: Study, stopped: Path, at: str) -> list[str]:
    """Return what `train` says if a person presses Ctrl-C at a line."""
    said: list[str] = []

    def show(line: str) -> None:
        said.append(line)
        if at in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(invited.coordinator, stopped, show, resume=True)
    return said


def test_ctrl_c_stops_the_run_at_the_server_and_says_how_to_go_on(
    invited: Study, answering: Flwr, stopped: Path
) -> None:
    answering("""echo '{"success": true}'""")
    said = stopped_by_ctrl_c(invited, stopped, at="Successfully started run 7")
    assert "stop 7 study --format json" in (stopped.parent / "asked").read_text()
    assert said[-2] == "Stopping the run"  # before the server is told, which takes some seconds
    assert said[-1].startswith("Stopped. What has been computed is kept (2 sums)")


def test_ctrl_c_stops_a_run_whose_number_the_server_has_not_told_yet(
    invited: Study, flwr: Flwr, stopped: Path
) -> None:
    asked = stopped.parent / "asked"
    flwr(
        f"""case "$1" in
  run) echo "Successfully built"; sleep .2; echo "Successfully started run 7"; sleep 60 ;;
  *) echo "$@" >> '{asked}'; echo '{{"success": true}}' ;;
esac"""
    )
    stopped_by_ctrl_c(invited, stopped, at="Successfully built")
    assert asked.read_text() == "stop 7 study --format json\n"


def test_a_run_that_the_server_does_not_stop_is_not_called_stopped(
    invited: Study, answering: Flwr, stopped: Path
) -> None:
    answering("echo 'Connection to the SuperLink is unavailable' >&2; exit 1")
    said = stopped_by_ctrl_c(invited, stopped, at="Successfully started run 7")
    assert not said[-1].startswith("Stopped")
    assert "(2 sums)" in said[-1]


def test_without_a_server_the_coordinator_is_told_to_start_its_own(invited: Study, tmp_path: Path) -> None:
    invited.coordinator = type(invited.coordinator)(invited.coordinator.folder, "localhost:1", 1)
    with pytest.raises(SettingError, match="start"):
        train(invited.coordinator, tmp_path / "new", print)


def test_a_checkout_of_another_version_is_not_sent_to_hospitals_that_would_refuse_it(
    invited: Study, answering: Flwr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(FAILED)
    app = tmp_path / "flower-pansvm"
    for name in PACKAGES:
        shutil.copytree(checkout() / name, app / name)
    (app / "pyproject.toml").write_text("")
    with (app / "clients" / "app.py").open("a") as file:
        file.write("# changed\n")
    monkeypatch.setattr(superlink, "checkout", lambda: app)
    with pytest.raises(SettingError, match="--renew"):
        train(invited.coordinator, tmp_path / "new", print)
    assert not (tmp_path / "asked").exists()


def test_a_stream_that_breaks_off_is_no_end(
    invited: Study, answering: Flwr, stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(superlink, "UNFINISHED_SECONDS", 0.0)
    running = FAILED.replace("finished:failed", "running")
    answering(f"if [ $(wc -l < {stopped.parent}/asked) -lt 4 ]; then {running}; else {FAILED}; fi")
    said: list[str] = []
    with pytest.raises(RunFailedError, match="'finished:failed'"):
        train(invited.coordinator, stopped, said.append, resume=True)
    assert len([line for line in said if line.startswith("The run goes on")]) == 2


def test_a_hospital_that_was_let_in_as_the_start_was_ended_is_not_told_twice(
    invited: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The SuperLink would refuse it, and no start would work any more."""
    told: list[list[str]] = []
    monkeypatch.setattr(server, "flwr", lambda _, *arguments: told.append([arguments[1], arguments[-3]]))
    register_hospitals(invited.coordinator, invited.coordinator.invitation())
    assert told == [["register", name] for name in invited.hospitals]
    keys = {one.name: one.supernode_key for one in invited.registrations()}
    _, stranger = make_hospital(tmp_path / "east", "east", str(tmp_path / "hospital0.csv"))
    let_in(invited, {keys["north"]: 17, keys["west"]: 2**64 - 3, stranger.supernode_key: 19})
    told.clear()
    register_hospitals(invited.coordinator, invited.coordinator.invitation())
    assert told == [["unregister", superlink.CONNECTION], ["register", "south"]]


def test_a_hospital_that_was_taken_out_can_come_back(invited: Study) -> None:
    """Flower takes no key a second time that was unregistered."""
    keys = [one.supernode_key for one in invited.registrations()]
    let_in(invited, {key: 17 + number for number, key in enumerate(keys)})
    forget_who_is_back(invited.coordinator, invited.coordinator.invitation())
    assert list(registered(invited.coordinator)) == keys
    database = invited.coordinator.folder / superlink.FLOWER_FOLDER / superlink.DATABASE
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE node SET status = 'unregistered' WHERE node_id = 18")
    forget_who_is_back(invited.coordinator, invited.coordinator.invitation())
    assert not database.exists()
    assert registered(invited.coordinator) == {}


@pytest.mark.parametrize("content", [b"", b"no database"])
def test_a_database_that_is_not_complete_is_left_to_the_superlink(invited: Study, content: bytes) -> None:
    """As where the first start was ended just as it made one."""
    database = invited.coordinator.folder / superlink.FLOWER_FOLDER / superlink.DATABASE
    database.write_bytes(content)
    forget_who_is_back(invited.coordinator, invited.coordinator.invitation())
    assert database.read_bytes() == content
