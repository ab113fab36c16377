"""The connection to a SuperLink that fails in every way a network or a server can: it comes back, or says why not."""

import json
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.proto.fleet_pb2 import ActivateNodeResponse, PullMessagesResponse, PushMessagesResponse
from flwr.proto.message_pb2 import Message as ProtoMessage
from flwr.proto.message_pb2 import Metadata, ObjectTree, PullObjectResponse, PushObjectResponse
from flwr.supercore.error import ApiErrorCode, FlowerError
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.task_identity import TaskIdentity

from clients.node import superlink as module
from clients.node.superlink import NotLetInError, RunEndedError, SuperLink
from flower_pansvm.errors import FederationError
from flower_pansvm.study.certificates import make_certificates
from tests.clocks import set_clock

OTHER_RELEASE = json.dumps(FlowerError(ApiErrorCode.RUNTIME_VERSION_INCOMPATIBLE, "").to_json("go away"))
ENDED = json.dumps(FlowerError(ApiErrorCode.FLEET_RUN_STATUS_NOT_ALLOWED, "").to_json("it has ended"))


def answered(code: int, text: str = "", **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "https://localhost/")
    return httpx.HTTPStatusError(
        "", request=request, response=httpx.Response(code, text=text, headers=headers, request=request)
    )


class Server:
    """What each call of a SuperLink's API answers, in order; the last answer stays. An exception is raised."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Any]] = {"ActivateNode": [ActivateNodeResponse(node_id=7)]}
        self.calls: list[tuple[str, Any]] = []
        self.connections = 0

    def __getattr__(self, method: str) -> Callable[[Any], Any]:
        def call(request: Any) -> Any:
            self.calls.append((method, request))
            left = self.answers.get(method, [None])
            answer = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(answer, Exception):
                raise answer
            return answer(request) if callable(answer) else answer

        return call

    def close(self) -> None:
        pass

    def named(self, method: str) -> list[Any]:
        return [request for name, request in self.calls if name == method]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let pauses take no time but the clock's."""
    now = [1000.0]
    set_clock(
        monkeypatch,
        module,
        monotonic=lambda: now[0],
        sleep=lambda seconds: now.__setitem__(0, now[0] + seconds),
    )
    return now


@pytest.fixture
def link(server: Server, told: list[str], clock: list[float], monkeypatch: pytest.MonkeyPatch) -> SuperLink:
    def connect(_: SuperLink) -> Server:
        server.connections += 1
        return server

    monkeypatch.setattr(SuperLink, "_new_client", connect)
    made = SuperLink("localhost:1", b"", generate_private_key(SECP384R1()), told.append)
    made.activate()
    return made


FAULTS = {
    "a full disk": answered(500),
    "a server that starts": answered(503),
    "a proxy that forbids": answered(403, "<html>blocked</html>"),
    "a proxy that wants a password": answered(407),
    "nobody there": httpx.ConnectError("refused"),
    "a stall": httpx.ReadTimeout("timed out"),
    "a handshake that took too long": httpx.ConnectTimeout("_ssl.c:989: The handshake operation timed out"),
    "another certificate": httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"),
    "another certificate, then": httpx.ReadError("ssl"),
    "an answer that is none": ValueError("DecodeError"),
    "an answer without end": FederationError("localhost:1 sends too much"),
    "an answer drop by drop": TimeoutError(),
    "an answer of many brackets": answered(403, "[" * 10_000),
    "another release of Flower": answered(412, OTHER_RELEASE),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_goes_wrong_the_next_answer_is_taken_over_a_new_connection(
    fault: str, link: SuperLink, server: Server, told: list[str]
) -> None:
    server.answers["PullMessages"] = [FAULTS[fault]] * 50 + [PullMessagesResponse()]
    before = server.connections
    assert link.pull() is None
    assert server.connections - before == 50
    assert told[-1] == ""
    assert "localhost:1" in told[-2]


def test_what_is_no_question_is_passed_over(link: SuperLink, server: Server) -> None:
    heads = [ProtoMessage(metadata=Metadata(message_type="query.a\x1b[2J\nreplied to join")), ProtoMessage()]
    server.answers["PullMessages"] = [PullMessagesResponse(messages_list=[head]) for head in heads]
    assert link.pull() is None
    assert link.pull() is None


def test_a_stale_signature_connects_anew_under_the_number_that_the_server_has_now(
    link: SuperLink, server: Server
) -> None:
    server.answers["PullMessages"] = [answered(401), PullMessagesResponse()]
    server.answers["ActivateNode"] = [ActivateNodeResponse(node_id=8)]
    assert link.pull() is None
    assert server.named("DeactivateNode")
    assert server.named("PullMessages")[-1].node.node_id == 8


def test_a_key_that_is_not_known_yet_is_waited_for(
    link: SuperLink, server: Server, clock: list[float]
) -> None:
    server.answers["ActivateNode"] = [answered(412)] * 10 + [ActivateNodeResponse(node_id=9)]
    link.activate()
    assert link.node_id == 9
    assert clock[0] - 1000 < module.UNKNOWN_SECONDS


def test_a_key_that_is_not_known_for_two_minutes_ends_it_and_the_text_names_both_causes(
    link: SuperLink, server: Server, clock: list[float]
) -> None:
    server.answers["ActivateNode"] = [answered(412)]
    with pytest.raises(NotLetInError, match=r"invitation .* copy of this folder"):
        link.activate()
    assert module.UNKNOWN_SECONDS <= clock[0] - 1000 < 1.5 * module.UNKNOWN_SECONDS


def test_a_server_that_is_away_between_two_refusals_is_given_two_minutes_anew(
    link: SuperLink, server: Server, clock: list[float]
) -> None:
    refused = [answered(412)] * 12
    away = [httpx.ConnectError("refused")]
    server.answers["ActivateNode"] = [*refused, *away, *refused, *away, ActivateNodeResponse(node_id=9)]
    link.activate()
    assert clock[0] - 1000 > 1.5 * module.UNKNOWN_SECONDS


@pytest.mark.parametrize(("ahead", "text"), [(3600, "+36"), (29, "+30 s"), (-600, "-600 s")])
def test_a_clock_that_is_wrong_is_named(
    ahead: float, text: str, link: SuperLink, server: Server, told: list[str]
) -> None:
    """Flower refuses a signature that is 5 s ahead, or five minutes old."""
    date = formatdate(time.time() - ahead, usegmt=True)
    server.answers["PullMessages"] = [answered(401, date=date), PullMessagesResponse()]
    link.pull()
    assert any("clock" in line and text in line for line in told)


def test_a_date_that_is_none_says_nothing_of_the_clock(link: SuperLink, server: Server) -> None:
    date = "Mon, 01 Jan 2024 00:00:00 +99999999999999999999"
    server.answers["PullMessages"] = [answered(401, date=date), PullMessagesResponse()]
    assert link.pull() is None


@pytest.mark.parametrize("call", ["GetRun", "PullObject", "PushMessages"])
def test_a_run_that_has_ended_is_told_from_a_connection_that_is_lost(
    call: str, link: SuperLink, server: Server
) -> None:
    server.answers[call] = [httpx.ReadTimeout("timed out"), answered(403, ENDED)]
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 3, 7, 0
    question = Message(RecordDict(), 7, "query.join")
    ask = {
        "GetRun": lambda: link.run(3),
        "PullObject": lambda: link.content(3, get_object_tree(question)),
        "PushMessages": lambda: link.push(Message(RecordDict(), reply_to=_received(question)), 0.0),
    }
    with pytest.raises(RunEndedError):
        ask[call]()


def _received(message: Message) -> Message:
    message.metadata.__dict__["_message_id"] = message.object_id
    message.metadata.__dict__["_run_id"] = 3
    return message


def test_a_question_whose_parts_come_late_is_waited_for_and_one_that_lacks_a_part_is_refused(
    link: SuperLink, server: Server
) -> None:
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 3, 7, 0
    question = Message(RecordDict({"a": ConfigRecord({"b": 1})}), 7, "query.join")
    parts = {name: one.deflate() for name, one in get_all_nested_objects(question).items()}
    late = [PullObjectResponse(object_found=True, object_available=False)] * 20

    def part(request: Any) -> PullObjectResponse:
        content = parts[request.object_id]
        return PullObjectResponse(object_found=True, object_available=True, object_content=content)

    server.answers["PullObject"] = [*late, part]
    found = link.content(3, get_object_tree(question))
    assert found.content["a"]["b"] == 1
    server.answers["PullObject"] = [PullObjectResponse(object_found=False)]
    with pytest.raises(FederationError):
        link.content(3, get_object_tree(question))
    server.answers["PullObject"] = late[:1]
    with pytest.raises(FederationError):
        link.content(3, get_object_tree(question))


def test_a_question_that_is_too_large_is_refused_and_not_asked_for_for_ever(
    link: SuperLink, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 3, 7, 0
    question = Message(RecordDict({"a": ConfigRecord({"b": bytes(600), "c": bytes(600)})}), 7, "query.join")
    server.answers["PullObject"] = [FederationError("too much")]
    with pytest.raises(FederationError, match="too much"):
        link.content(3, get_object_tree(question))
    server.answers["PullObject"] = [PullObjectResponse(object_available=True, object_content=bytes(600))]
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    monkeypatch.setattr(module, "PART_BYTES", 0)
    with pytest.raises(FederationError, match="more than"):
        link.content(3, get_object_tree(question))


def test_a_question_of_very_many_parts_is_refused_and_most_of_them_not_asked_for(
    link: SuperLink, server: Server
) -> None:
    """Also of one part again and again, which has nothing in it."""
    tree = ObjectTree(object_id="all", children=[ObjectTree(object_id="one")] * 50_000)
    server.answers["PullObject"] = [PullObjectResponse(object_available=True, object_content=b"")]
    with pytest.raises(FederationError, match="parts"):
        link.content(3, tree)
    assert len(server.named("PullObject")) < 3_000


def test_another_release_of_flower_is_named(link: SuperLink, server: Server) -> None:
    server.answers["ActivateNode"] = [answered(412, OTHER_RELEASE)]
    with pytest.raises(NotLetInError, match="release of Flower"):
        link.activate()


def test_a_reply_is_sent_again_to_a_server_that_has_forgotten_a_part(link: SuperLink, server: Server) -> None:
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 3, 7, 0
    reply = Message(
        RecordDict({"a": ConfigRecord({"b": 1})}), reply_to=_received(Message(RecordDict(), 7, "query.join"))
    )

    def wanted(request: Any) -> PushMessagesResponse:
        names = [request.message_object_trees[0].object_id]
        return PushMessagesResponse(objects_to_push=names, session_id="s")

    server.answers["PushMessages"] = [wanted]
    server.answers["PushObject"] = [PushObjectResponse(stored=False), PushObjectResponse(stored=True)]
    assert link.push(reply, 0.0)
    assert len(server.named("PushMessages")) == 2


def test_a_reply_of_which_the_server_wants_nothing_was_not_taken(link: SuperLink, server: Server) -> None:
    """It says no more of one that came too late; after a first pass it may have all of it."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 3, 7, 0
    question = _received(Message(RecordDict(), 7, "query.join"))
    server.answers["PushMessages"] = [PushMessagesResponse(session_id="s")]
    assert not link.push(Message(RecordDict(), reply_to=question), 0.0)

    def wanted(request: Any) -> PushMessagesResponse:
        return PushMessagesResponse(objects_to_push=[request.message_object_trees[0].object_id])

    server.answers["PushMessages"] = [wanted, PushMessagesResponse()]
    server.answers["PushObject"] = [PushObjectResponse(stored=False)]
    assert link.push(Message(RecordDict(), reply_to=question), 0.0)


def test_a_heartbeat_that_fails_is_no_reason_to_think_that_a_run_has_ended(
    link: SuperLink, server: Server
) -> None:
    server.answers["SendNodeHeartbeat"] = [answered(500), httpx.ReadTimeout(""), None]
    assert link.heartbeat(3)
    assert link.heartbeat(3)
    server.answers["GetRun"] = [answered(403, "blocked"), answered(403, ENDED)]
    assert link.heartbeat(3)
    assert not link.heartbeat(3)


def test_no_heartbeat_is_sent_while_it_is_not_let_in(link: SuperLink, server: Server) -> None:
    """The server takes a heartbeat for an activation, and refuses another one then."""
    link.deactivate()
    link.heartbeat(None)
    assert not server.named("SendNodeHeartbeat")


def test_a_client_of_flowers_is_made_with_the_hospitals_key_and_authority() -> None:
    authority = make_certificates("localhost")["ca.crt"]
    SuperLink("localhost:1", authority, generate_private_key(SECP384R1()), print).deactivate()
