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
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.refusals import Memory
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.secure_sum.rehearsal import gather_members
from flower_pansvm.summing import RELAY, AllKeys, PublicKeys
from flower_pansvm.systems.common import JOIN, JoinQuestion
from flower_pansvm.systems.scaling import ROWS
from flower_pansvm.tasks import Nothing, Task, disclosed, dp, sum_name, summed
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.federation.federation import Federation
from strategies.settings import make_settings
from tests.contexts import context_of
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
    protocol, roster = PROTOCOLS["ring"](), ("a", "b", "c")
    this = SumRound("r", "weigh", 1, 0, roster)
    member = gather_members(protocol, roster)["a"]
    return Participation(protocol, this, member, {"weights": 8.0}, Memory("r"))


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        *((WEIGH, answer) for answer in ({"weights": ONES}, ONES, Names(("x",)), DpWeights(ONES), None)),
        *((WEIGH_DP, answer) for answer in ({"weights": ONES}, ONES, DpWeights(ONES))),
    ],
    ids=str,
)
def test_an_answer_stays_that_is_not_declared_or_to_be_charged_and_was_not(task: Task, answer: Any) -> None:
    with pytest.raises(SumError, match="'weigh'"):
        encode_reply(task, answer, participation(), {})


def test_a_sum_is_never_answered_without_a_protocol() -> None:
    with pytest.raises(SumError, match="outside"):
        encode_reply(WEIGH, Weights(ONES), None, {})


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


@pytest.mark.parametrize("value", [8.125, -8.125, np.nan, np.inf])
def test_values_that_do_not_fit_are_not_refused(value: float) -> None:
    """The refusal would name the site whose value it is."""
    content, _ = encode_reply(WEIGH, Weights(np.array([1.0, value])), participation(), {})
    assert records.get(content, "sum")["payload"].size == 16


# Garbage

SECRETS = ("61.8033", "0.0271", "FEVER")


@pytest.fixture
def lonely(tmp_path: Path) -> Context:
    """Return a hospital whose cells would be recognised anywhere, in a run that it has not joined."""
    frame = pd.DataFrame({"age": [61.8033] * 6, "dose": [0.0271] * 6, "label": ["FEVER", "0"] * 3})
    frame.to_csv(tmp_path / "table.csv", index=False)
    node: dict[str, Scalar] = {"data": str(tmp_path / "table.csv"), "name": "north", "privacy": "exact"}
    return context_of(node, sites=3, privacy="exact")


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
def test_every_task_answers_a_message_without_inputs_or_of_half_a_group_with_an_error(
    task: Task, joined: bool, lonely: Context
) -> None:
    if joined:
        join_alone(lonely)
    halves = RecordDict({"sum.values": ConfigRecord()}), RecordDict({"inputs.arrays": ArrayRecord()})
    for content in (RecordDict(), request_without_inputs(task), *halves):
        assert_refused_without_data(ask(task, content, lonely))


FULL = OSError(errno.ENOSPC, "patient 61.8033", "/data/4711")


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        *((kind("patient 61.8033"), kind.__name__) for kind in (MemoryError, KeyError, RecursionError)),
        (FULL, "device"),
    ],
)
def test_an_unexpected_failure_is_named_by_its_kind_only_and_a_full_disk_without_the_path(
    failure: Exception, told: str, federation: Federation, ask_moments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr("clients.systems.scaling.scaling.moments", fail)
    with pytest.raises(PanSVMError, match=told) as caught:
        ask_moments(federation)
    assert not {"61.8033", "4711"} & set(re.findall(r"[\d.]*\d", str(caught.value)))


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
