"""A hospital's SuperNode: what it answers to the questions of a SuperLink that does as it likes."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Message, RecordDict
from flwr.cli.build import build_fab_from_disk
from flwr.common.constant import ErrorCode
from flwr.supercore.run import Run

from clients.budget import new_ledger
from clients.deployment.status import read_status
from clients.node import node as module
from clients.node.node import QUESTION_FILE, HospitalNode
from clients.node.node_config import FLOWER_FOLDER
from clients.node.node_status import STATUS_FILE
from clients.node.superlink import NotLetInError, RunEndedError
from flower_pansvm import records
from flower_pansvm.errors import FederationError
from flower_pansvm.systems.common import JoinQuestion
from flower_pansvm.version import VERSION

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")


class OverError(Exception):
    """There are no more questions."""


class Link:
    """A SuperLink in this process: questions that it asks, and the replies that it gets."""

    def __init__(self, bundle: bytes) -> None:
        self.bundle, self.version, self.task_type = bundle, VERSION, "flwr-serverapp"
        self.questions: list[Message] = []
        self.replies: list[Message] = []
        self.ended: set[int] = set()
        self.node_id, self.active, self.stuck, self.taken = 1, False, False, True

    def __call__(self, *_: Any) -> "Link":
        return self

    def activate(self) -> None:
        self.active = True

    def deactivate(self) -> None:
        self.active = False

    def heartbeat(self, run_id: int | None) -> bool:
        return run_id not in self.ended

    def pull(self) -> tuple[Message, Message]:
        if not self.questions:
            raise OverError
        question = self.questions.pop(0)
        return question, question

    def content(self, run_id: int, question: Message) -> Message:
        return question

    def run(self, run_id: int) -> tuple[Run, bytes]:
        if run_id in self.ended:
            raise RunEndedError
        run = replace(Run.create_empty(run_id), fab_version=self.version, primary_task_type=self.task_type)
        return replace(run, override_config={"sites": 1, "strategy": "svm-admm"}), self.bundle

    def push(self, reply: Message, seconds: float) -> bool:
        self.replies.append(reply)
        return self.taken


@pytest.fixture(scope="session")
def bundle() -> bytes:
    return build_fab_from_disk(ROOT)


@pytest.fixture
def folder(hospital_files: list[Path], tmp_path: Path, state_home: Path) -> Path:
    new_ledger(tmp_path / "state", 0.2)
    config = {
        **{"data": str(hospital_files[0]), "name": "north", "privacy": "exact"},
        "state": str(tmp_path / "state"),
    }
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in config.items())
    (tmp_path / "node.toml").write_text(text)
    (tmp_path / FLOWER_FOLDER).mkdir()
    return tmp_path


@pytest.fixture
def link(bundle: bytes, monkeypatch: pytest.MonkeyPatch) -> Link:
    made = Link(bundle)
    monkeypatch.setattr(module, "SuperLink", made)
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.05)
    return made


def question(kind: str = "query.join", run: int = 1) -> Message:
    content = RecordDict()
    records.write(content, "inputs", JoinQuestion((), ("0", "1")))
    made = Message(content, dst_node_id=1, message_type=kind)
    made.metadata.__dict__["_run_id"] = run
    made.metadata.__dict__["_message_id"] = "0" * 64
    return made


def serve(folder: Path, link: Link, *questions: Message) -> list[Message]:
    link.questions += questions
    before = signal.getsignal(signal.SIGUSR1)
    try:
        with pytest.raises(OverError):
            HospitalNode(folder, "localhost:1", b"", None).serve()  # type: ignore[arg-type]
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not link.active
    return link.replies


def test_a_question_is_answered_by_the_installed_software(folder: Path, link: Link) -> None:
    (reply,) = serve(folder, link, question())
    assert not reply.has_error(), reply.error
    status = read_status(folder)
    assert status["question"]["task"] == "join"
    assert status["connected_since"]
    assert not status["answering"]


def test_a_reply_that_was_not_taken_is_not_called_one(
    folder: Path, link: Link, capsys: pytest.CaptureFixture[str]
) -> None:
    link.taken = False
    serve(folder, link, question())
    said = capsys.readouterr().out
    assert "The reply to join was not taken" in said
    assert "replied" not in said


def test_each_run_has_a_state_of_its_own(folder: Path, link: Link) -> None:
    """A second question to join in a run is another thing than the first one in another run."""
    serve(folder, link, question(run=1), question(run=2))
    assert [reply.has_error() for reply in link.replies] == [False, False]
    assert [reply.metadata.run_id for reply in link.replies] == [1, 2]


def test_a_run_of_flowers_agents_is_answered_as_any_other(folder: Path, link: Link) -> None:
    """Flower's SuperNode makes it a task that nobody takes, and waits for the reply for ever."""
    link.task_type = "flwr-agentapp"
    assert len(serve(folder, link, question())) == 1


@pytest.mark.parametrize("kind", ["query.nosuch", "train.join", "query"])
def test_a_question_that_no_task_answers_gets_a_reply_without_its_text(
    kind: str, folder: Path, link: Link
) -> None:
    (reply,) = serve(folder, link, question(kind))
    assert reply.has_error()
    assert "nosuch" not in reply.error.reason


def test_a_task_of_a_strangers_making_cannot_fill_the_log(
    folder: Path, link: Link, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(folder, link, question("query." + "x" * 10**5))
    shown = capsys.readouterr().out
    assert "asked for x" in shown
    assert all(len(line) < 200 for line in shown.splitlines())


@pytest.mark.parametrize("sent", ["another", "version", "no zip"])
def test_a_run_of_other_software_is_refused_with_a_reason_and_the_next_is_answered(
    sent: str, folder: Path, link: Link
) -> None:
    honest = link.bundle
    if sent == "version":
        link.version = "0.1.0/../../dir"
    else:
        link.bundle = honest[: len(honest) // 2] if sent == "another" else b"no zip at all"
    (refused,) = serve(folder, link, question())
    assert refused.error.code == FederationError.code
    assert refused.error.reason.startswith("Site 'north'")
    assert "nothing of the coordinator's bundle was executed" in refused.error.reason
    link.bundle, link.version = honest, VERSION
    assert not serve(folder, link, question(run=2))[1].has_error()


def test_software_that_was_changed_since_the_start_answers_nothing(
    folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = iter(["before", "after"])
    monkeypatch.setattr(module, "hash_of", lambda _: next(hashes))
    (reply,) = serve(folder, link, question())
    assert reply.error.code == FederationError.code
    assert "start that again" in reply.error.reason


@pytest.mark.parametrize("text", ['privacy = "dp"\n', "= this is no toml ["])
def test_a_node_config_that_was_changed_since_the_start_is_not_that_of_another_run(
    text: str, folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that has begun goes on by the policy that it was begun with."""
    app: Callable[..., Message] = module.app

    def change(*given: Any) -> Message:
        (folder / "node.toml").write_text(text)
        return app(*given)

    monkeypatch.setattr(module, "app", change)
    first, second, other = serve(folder, link, question(), question("query.nosuch"), question(run=2))
    assert not first.has_error()
    assert second.error.code != FederationError.code
    assert other.error.code == FederationError.code
    assert "node.toml was changed" in other.error.reason
    assert str(folder) not in other.error.reason


def test_a_run_that_has_ended_is_left_without_a_reply(folder: Path, link: Link) -> None:
    link.ended = {1}
    assert [reply.metadata.run_id for reply in serve(folder, link, question(), question(run=2))] == [2]


def test_a_question_that_is_asked_again_gets_the_same_reply_and_computes_nothing(
    folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply is lost when the server is killed while it takes it in or hands it on."""
    app, calls = module.app, []
    monkeypatch.setattr(module, "app", lambda *given: calls.append(1) or app(*given))
    serve(folder, link, question(), question(), question(run=2), question())
    assert len(calls) == 3  # the last is no repetition: a second question to join
    first, again, _, late = link.replies
    assert first.content == again.content
    assert first.content.object_id == again.content.object_id
    assert late.has_error()


def test_a_process_that_was_started_during_a_run_takes_no_part_in_it(folder: Path, link: Link) -> None:
    """With this code the run goes on without the site."""
    (reply,) = serve(folder, link, question("query.moments"))
    assert reply.error.code == ErrorCode.CLIENT_APP_CRASHED


def test_a_computation_ends_when_its_run_is_stopped(
    folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(*_: object) -> None:
        link.ended = {1}
        while True:
            time.sleep(0.01)

    monkeypatch.setattr(module, "app", compute)
    assert serve(folder, link, question()) == []


def test_the_end_of_another_run_gives_up_no_question(
    folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server may say so when the next question is being answered."""
    app: Callable[..., Message] = module.app

    def signal_and_answer(*given: Any) -> Message:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        time.sleep(0.01)
        return app(*given)

    monkeypatch.setattr(module, "app", signal_and_answer)
    assert len(serve(folder, link, question())) == 1


def test_a_server_that_knows_the_hospital_no_more_ends_the_process_and_the_question_is_kept(
    folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NotLetInError("unknown")

    monkeypatch.setattr(link, "content", refuse)
    link.questions = [question()]
    with pytest.raises(NotLetInError):
        HospitalNode(folder, "localhost:1", b"", None).serve()  # type: ignore[arg-type]
    assert (folder / FLOWER_FOLDER / QUESTION_FILE).exists()


@pytest.mark.parametrize(("stuck", "computes"), [(True, False), (True, True), (False, False)])
def test_a_process_that_a_server_holds_in_a_call_says_no_longer_that_it_lives(
    stuck: bool, computes: bool, folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it computes, however long that takes."""
    app: Callable[..., Message] = module.app
    written: list[float] = []

    def wait() -> None:
        link.stuck = stuck
        time.sleep(0.2)
        written.append((folder / STATUS_FILE).stat().st_mtime_ns)
        time.sleep(0.5)
        written.append((folder / STATUS_FILE).stat().st_mtime_ns)

    def compute(*given: Any) -> Message:
        wait()
        return app(*given)

    def pull() -> None:
        wait()
        raise OverError

    if computes:
        monkeypatch.setattr(module, "app", compute)
    else:
        monkeypatch.setattr(link, "pull", pull)
    serve(folder, link, question())
    assert (written[0] == written[1]) == (stuck and not computes)


def test_a_signal_between_two_questions_harms_nobody(folder: Path, link: Link) -> None:
    pull: Callable[[], Any] = link.pull

    def pull_and_signal() -> Any:
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        return pull()

    link.pull = pull_and_signal  # type: ignore[method-assign]
    assert len(serve(folder, link, question())) == 1


def test_an_error_of_the_app_is_told_by_its_class_only(
    folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the row of patient 4711")

    monkeypatch.setattr(module, "app", fail)
    (reply,) = serve(folder, link, question())
    assert reply.error.code == ErrorCode.CLIENT_APP_RAISED_EXCEPTION
    assert "4711" not in reply.error.reason


def test_the_question_of_a_process_that_was_killed_is_refused_by_the_next(
    folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(module, "app", die)
    link.questions = [question()]
    with pytest.raises(Killed):
        HospitalNode(folder, "localhost:1", b"", None).serve()  # type: ignore[arg-type]
    assert (folder / FLOWER_FOLDER / QUESTION_FILE).exists()
    (reply,) = serve(folder, link)
    assert reply.error.code == ErrorCode.CLIENT_APP_CRASHED
    assert reply.metadata.reply_to_message_id == "0" * 64
    assert len(serve(folder, link)) == 1  # once


def test_a_reply_that_cannot_be_sent_is_given_up_and_the_next_question_answered(
    folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    push: Callable[..., None] = link.push

    def fail_once(reply: Message, seconds: float) -> None:
        monkeypatch.setattr(link, "push", push)
        raise KeyError("a part that the reply does not have")

    monkeypatch.setattr(link, "push", fail_once)
    (reply,) = serve(folder, link, question(), question(run=2))
    assert reply.metadata.run_id == 2


@pytest.mark.parametrize("left", [b"", b"\xff" * 40])
def test_a_damaged_question_file_is_no_reason_not_to_start(left: bytes, folder: Path, link: Link) -> None:
    (folder / FLOWER_FOLDER / QUESTION_FILE).write_bytes(left)
    assert not serve(folder, link, question())[-1].has_error()


def test_a_folder_that_is_read_only_does_not_end_it(
    folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise OSError(30, "Read-only file system", str(path))

    (folder / FLOWER_FOLDER / QUESTION_FILE).write_bytes(b"of the last process")
    monkeypatch.setattr(Path, "unlink", refuse)
    assert len(serve(folder, link, question(), question(run=2))) == 2


def test_a_full_disk_does_not_end_it(folder: Path, link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("clients.node.node_status.write", full)
    monkeypatch.setattr(Path, "write_bytes", full)
    assert len(serve(folder, link, question())) == 1
    assert not os.path.exists(folder / FLOWER_FOLDER / QUESTION_FILE)
