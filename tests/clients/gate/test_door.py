"""What leaves a site and what does not: the door itself, garbage at every task, relay steps out of turn."""

import errno
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict

from clients.app import app
from clients.gate import private
from clients.gate.private import Private
from clients.gate.reply import encode_reply
from clients.membership import Participation
from flower_pansvm import records
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import PanSVMError, SumError
from flower_pansvm.records import Texts
from flower_pansvm.secure_sum import protocol_class
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.refusals import Memory
from flower_pansvm.secure_sum.rehearsal import gather_members
from flower_pansvm.summing import RELAY, AllKeys, PublicKeys
from flower_pansvm.systems.common import JOIN, JoinQuestion
from flower_pansvm.systems.scaling import MOMENTS, ROWS
from flower_pansvm.tasks import Nothing, Task, disclosed, dp, sum_name, summed
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.federation.federation import Federation
from strategies.settings import Settings, make_settings
from tests.grids import meddle
from tests.tasks import TASKS

pytestmark = pytest.mark.usefixtures("begun_ledgers")


@dataclass(frozen=True)
class Weights:
    weights: Floats = summed()


@dataclass(frozen=True)
class DpWeights:
    weights: Floats = dp(lambda _: 1.0, shape=(-1,))


@dataclass(frozen=True)
class Names:
    names: Texts = disclosed()


WEIGH = Task("weigh", "train", Nothing, Weights)
WEIGH_DP = Task("weigh", "train", Nothing, DpWeights)
NAME = Task("name", "query", Nothing, Names)
ONES = np.ones(2)

# The door


def participation() -> Participation:
    protocol, roster = protocol_class("ring")(), ("a", "b", "c")
    this = SumRound("r", "weigh", 1, 0, roster)
    member = gather_members(protocol, roster)["a"]
    return Participation(protocol, this, member, {"weights": 8.0}, Memory("r"))


@pytest.mark.parametrize("answer", [{"weights": ONES}, ONES, Names(("x",)), DpWeights(ONES), None], ids=str)
def test_an_answer_that_is_not_declared_stays(answer: Any) -> None:
    with pytest.raises(SumError, match="declares"):
        encode_reply(WEIGH, answer, participation(), {})


@pytest.mark.parametrize("answer", [DpWeights(ONES), ONES, {"weights": ONES}], ids=str)
def test_a_part_that_is_to_be_charged_does_not_leave_without(answer: Any) -> None:
    with pytest.raises(SumError, match="'weigh'"):
        encode_reply(WEIGH_DP, answer, participation(), {})


def test_charged_it_leaves() -> None:
    content, _ = encode_reply(WEIGH_DP, Private(DpWeights(ONES)), participation(), {})
    assert records.has(content, "sum")


def test_only_the_gate_charges() -> None:
    """Who makes a `Private` by himself says that there is noise where there may be none."""
    makers = [
        file.name
        for file in Path(private.__file__).parents[1].rglob("*.py")
        if re.search(r"(?<!class )\bPrivate\(", file.read_text())
    ]
    assert makers == ["private.py"]


def test_summed_parts_leave_masked() -> None:
    content, kept = encode_reply(WEIGH, Weights(np.array([1.5, 2.5])), participation(), {"b": b"sealed"})
    assert kept == b""
    assert records.get(content, "notes") == {"b": b"sealed"}
    assert set(records.groups(content, "")) == {"notes", "sum", "shapes"}
    words = np.frombuffer(records.get(content, "sum")["payload"].tobytes(), dtype="<i8")
    assert not np.isin(words, np.array([1.5, 2.5]) * 2.0 ** np.arange(63)[:, None]).any()


def test_disclosed_parts_leave_as_they_are() -> None:
    content, _ = encode_reply(NAME, Names(("x",)), None, {})
    assert records.read(content, "disclosed", Names) == Names(("x",))
    assert set(records.groups(content, "")) == {"disclosed", "notes"}


@pytest.mark.parametrize(
    ("value", "reason"),
    [(8.125, "above the agreed bound 8"), (-8.125, "above"), (np.nan, "not a finite"), (np.inf, "not a")],
)
def test_values_that_do_not_fit_are_refused_and_not_named(value: float, reason: str) -> None:
    with pytest.raises(SumError, match=f"'weights' holds a value .*{reason}") as caught:
        encode_reply(WEIGH, Weights(np.array([1.0, value])), participation(), {})
    assert "8.125" not in str(caught.value)


def test_a_sum_is_never_answered_without_a_protocol() -> None:
    with pytest.raises(SumError, match="outside"):
        encode_reply(WEIGH, Weights(ONES), None, {})


def test_a_value_that_does_not_fit_leaves_nothing_behind_in_a_run(
    settings: Settings,
    hospital_files: list[Path],
    hospitals: Any,
    enrol: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Otherwise the table would be refused before anything is added up.
    monkeypatch.setattr("clients.table.cells.LARGEST", np.inf)
    for file in hospital_files:
        frame = pd.read_csv(file)
        frame.assign(dose=frame["dose"] * 2.0**130).to_csv(file, index=False)
    grid = hospitals(settings, hospital_files)
    federation = enrol(grid, settings)
    with pytest.raises(SumError, match="'total'"):
        federation.secure_sum(MOMENTS, Nothing())
    answers = grid.replies[3:]
    assert len(answers) == 3
    assert all(reply.has_error() for reply in answers)


# Garbage

SECRETS = ("61.8033", "0.0271", "FEVER")


@pytest.fixture
def lonely(tmp_path: Path) -> Context:
    """Return a hospital whose cells would be recognised anywhere, in a run that it has not joined."""
    frame = pd.DataFrame({"age": [61.8033] * 6, "dose": [0.0271] * 6, "label": ["FEVER", "0"] * 3})
    frame.to_csv(tmp_path / "table.csv", index=False)
    return context_of({"data": str(tmp_path / "table.csv"), "name": "north", "privacy": "exact"})


def context_of(node: dict[str, Scalar]) -> Context:
    return Context(1, 2, {**node}, RecordDict(), {**make_settings(sites=3, privacy="exact").to_config()})


def ask(task: Task, content: RecordDict, context: Context) -> Message:
    message = Message(content, 2, task.message_type)
    message.metadata.__dict__["_message_id"] = "1"
    return app(message, context)


def join_alone(context: Context) -> None:
    content = RecordDict()
    records.write(content, "inputs", JoinQuestion(()))
    assert ask(JOIN, content, context).has_content()


def request_without_inputs(task: Task) -> RecordDict:
    """Return a request that is right but for what the task needs: no inputs, no broadcasts, keys of zeros."""
    content = RecordDict()
    which: dict[str, records.Value] = {
        "task": sum_name(task, {}, {}, {}, make_settings(sites=3, privacy="exact").terms.digest),
        "round_trip": 1,
        "attempt": 0,
        "left_out": [],
    }
    records.put(content, "inputs", {})
    records.put(content, "sum", which)
    zeros = PublicKeys(bytes(32), b"", b"", b"")
    records.write(content, "keys", AllKeys.of(dict.fromkeys(("east", "north", "south"), zeros)))
    return content


def assert_refused_without_data(reply: Message) -> None:
    assert reply.has_error()
    assert reply.error.code >= PanSVMError.code
    assert reply.error.reason
    for secret in SECRETS:
        assert secret not in reply.error.reason


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_answers_a_message_without_inputs_with_an_error(
    task: Task, joined: bool, lonely: Context
) -> None:
    if joined:
        join_alone(lonely)
    assert_refused_without_data(ask(task, RecordDict(), lonely))
    assert_refused_without_data(ask(task, request_without_inputs(task), lonely))


@pytest.mark.parametrize("half", [{"sum.values": ConfigRecord()}, {"inputs.arrays": ArrayRecord()}], ids=str)
def test_half_a_group_is_an_error(half: dict[str, Any], lonely: Context) -> None:
    join_alone(lonely)
    for task in TASKS:
        assert_refused_without_data(ask(task, RecordDict(half), lonely))


@pytest.mark.parametrize("failure", [MemoryError, KeyError, RecursionError, FloatingPointError])
def test_an_unexpected_failure_is_named_by_its_kind_only(
    failure: type[Exception], federation: Federation, ask_moments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise failure("patient 61.8033")

    monkeypatch.setattr("clients.systems.scaling.scaling.moments", fail)
    with pytest.raises(
        PanSVMError, match=f"'moments' failed at site 'hospital0' with {failure.__name__}"
    ) as caught:
        ask_moments(federation)
    assert "61.8033" not in str(caught.value)


def test_a_full_disk_is_named_and_no_path(
    federation: Federation, ask_moments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "patient 61.8033", "/data/4711")

    monkeypatch.setattr("clients.systems.scaling.scaling.moments", fail)
    with pytest.raises(PanSVMError, match="device") as caught:
        ask_moments(federation)
    assert "61.8033" not in str(caught.value)
    assert "4711" not in str(caught.value)


# Relay steps


def test_relay_steps_are_answered_once_and_for_the_sum_at_hand_only(
    hospital_files: list[Path], hospitals: Callable[..., InProcessGrid], enrol: Any, ask_moments: Any
) -> None:
    settings = make_settings(sites=3, min_cluster=2, aggregation="ring-hops")
    grid = hospitals(settings, hospital_files)
    federation = enrol(grid, settings)
    steps: list[tuple[int, RecordDict]] = []

    def remember(message: Message) -> None:
        if message.metadata.message_type == RELAY.message_type:
            steps.append((message.metadata.dst_node_id, message.content))

    def answer(step: tuple[int, RecordDict]) -> str:
        (reply,) = grid.send_and_receive([Message(step[1], step[0], RELAY.message_type)])
        return str(reply.error.reason) if reply.has_error() else "answered"

    meddle(grid, remember)
    ask_moments(federation)
    first = list(steps)
    assert len(first) == 3
    assert all("was done already" in answer(step) for step in first)
    federation.secure_sum(ROWS, Nothing())
    assert all("does not take part in" in answer(step) for step in first)
