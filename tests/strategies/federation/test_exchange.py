"""Whoever lets the coordinator wait is named."""

from collections.abc import Iterable
from typing import Any
from unittest.mock import Mock

import pytest
from flwr.app import Error, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError

from clients.node.superlink import NotLetInError
from flower_pansvm.errors import (
    BudgetError,
    EngineError,
    FederationError,
    ModelFileError,
    PanSVMError,
    SettingError,
    SumError,
    TableError,
    TrainingError,
)
from flower_pansvm.records import packed
from flower_pansvm.study.connection import NotThereError
from strategies.federation import exchange as exchanging
from strategies.federation.exchange import Costs, by_reason, exchange
from strategies.federation.packed_grid import PackedGrid
from tests.clocks import set_clock


def silent_grid(messages: list[str]) -> Grid:
    """Return a grid whose nodes never answer."""
    grid = Mock(spec=Grid)
    grid.push_messages.return_value = messages
    grid.pull_messages.return_value = []
    return grid


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Set a clock that sleep moves on."""
    now = [0.0]
    set_clock(
        monkeypatch, exchanging, monotonic=lambda: now[0], sleep=lambda _: now.__setitem__(0, now[0] + 1.0)
    )
    return now


@pytest.mark.parametrize(
    ("names", "told"), [({7: "south", 8: "north"}, "north, south"), ({}, "node 7, node 8")]
)
def test_a_line_now_and_then_says_who_is_waited_for(
    names: dict[int, str], told: str, now: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    messages = [Mock(spec=Message, content=RecordDict(), metadata=Mock(dst_node_id=node)) for node in (7, 8)]
    with caplog.at_level("INFO", logger="flwr"):
        assert exchange(silent_grid(["a", "b"]), messages, 40.0, Costs(), names) == {}
    assert caplog.messages == [f"waiting for {told} since {seconds} s" for seconds in (16, 31)]


CODES = {
    **{101: SettingError, 102: TableError, 103: SumError, 104: TrainingError, 105: ModelFileError},
    **{106: FederationError, 107: EngineError, 108: BudgetError, 100: PanSVMError, 199: PanSVMError},
}


@pytest.mark.parametrize("code", CODES)
def test_what_a_site_refuses_is_an_error_of_the_class_that_it_was_there(code: int) -> None:
    """Not of one that shares the code of the class that it is derived from."""
    derived = (NotThereError, NotLetInError)
    assert {one.code for one in derived} <= CODES.keys()
    message = Mock(spec=Message, content=RecordDict(), metadata=Mock(dst_node_id=7))
    reply = Mock(spec=Message, error=Error(code, "why"), metadata=Mock(reply_to_message_id="a"))
    reply.has_error.return_value, reply.has_content.return_value = True, False
    grid = Mock(spec=Grid)
    grid.push_messages.return_value, grid.pull_messages.return_value = ["a"], [reply]
    with pytest.raises(PanSVMError, match="why") as caught:
        exchange(grid, [message], 40.0, Costs(), {7: "south"})
    assert type(caught.value) is CODES[code]


def test_one_reason_of_many_sites_is_told_once_with_their_names() -> None:
    messages = [
        Mock(spec=Message, content=RecordDict(), metadata=Mock(dst_node_id=node)) for node in (7, 8, 9)
    ]
    reasons = ["site 'south' has no row.", "site 'north' has no row.", "'west': no key"]
    replies = []
    for message_id, reason in zip("abc", reasons, strict=True):
        reply = Mock(spec=Message, error=Error(102, reason), metadata=Mock(reply_to_message_id=message_id))
        reply.has_error.return_value, reply.has_content.return_value = True, False
        replies.append(reply)
    grid = Mock(spec=Grid)
    grid.push_messages.return_value, grid.pull_messages.return_value = list("abc"), replies
    with pytest.raises(TableError) as caught:
        exchange(grid, messages, 40.0, Costs(), {7: "south", 8: "north", 9: "west"})
    assert str(caught.value).splitlines() == [
        "'west': no key",
        "site 'north' has no row. The same at 'south'.",
    ]


class LossyGrid:
    """A grid whose nodes answer, and which loses the first replies of each."""

    def __init__(self, lost: list[int]) -> None:
        self.lost, self.asked = lost, list[Message]()

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        self.asked += messages
        return [str(number) for number in range(len(self.asked) - len(list(messages)), len(self.asked))]

    def pull_messages(self, ids: Iterable[str]) -> list[Message]:
        replies = []
        for one in ids:
            question = self.asked[int(one)]
            error = Error(self.lost.pop(0)) if self.lost else None
            reply = Mock(spec=Message, content=packed(RecordDict()), error=error)
            reply.metadata.src_node_id = question.metadata.dst_node_id
            reply.metadata.reply_to_message_id = one
            reply.has_error.return_value, reply.has_content.return_value = error is not None, error is None
            replies.append(reply)
        return replies


@pytest.mark.parametrize(
    ("lost", "asked", "answered"),
    [
        ([], 1, 1),
        ([ErrorCode.NODE_UNAVAILABLE] * 3 + [ErrorCode.MESSAGE_UNAVAILABLE], 5, 1),
        ([ErrorCode.CLIENT_APP_CRASHED], 1, 0),
        ([ErrorCode.NODE_UNAVAILABLE] * 1000, 21, 0),
    ],
)
def test_what_is_lost_on_the_way_is_asked_again_for_a_minute(
    lost: list[int], asked: int, answered: int, now: list[float]
) -> None:
    grid = LossyGrid(lost)
    question = Message(RecordDict(), 7, "query.join")
    replies = exchange(grid, [question], 600.0, Costs(), {})  # type: ignore[arg-type]
    assert (len(replies), abs(len(grid.asked) - asked) <= 1) == (answered, True)
    assert now[0] <= 61


def test_nobody_is_late_while_flower_waits_for_the_rest_of_a_reply_that_a_killed_server_has_lost(
    now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives that up after three minutes, in which it looks at no other reply."""
    grid = LossyGrid([ErrorCode.MESSAGE_UNAVAILABLE])
    pull = grid.pull_messages

    def wait(ids: Iterable[str]) -> list[Message]:
        now[0] += 188.0 * (now[0] < 188)
        return pull(sorted(ids)[: 1 if grid.lost else None])

    monkeypatch.setattr(grid, "pull_messages", wait)
    questions = [Message(RecordDict(), node, "query.join") for node in (7, 8)]
    replies = exchange(grid, questions, 90.0, Costs(), {})  # type: ignore[arg-type]
    assert (sorted(replies), len(grid.asked)) == ([7, 8], 3)


@pytest.mark.parametrize(
    ("deployed", "interrupted"), [(True, "pull_messages"), (True, "push_messages"), (False, "pull_messages")]
)
def test_a_question_that_a_server_handed_out_as_it_was_killed_is_asked_again(
    deployed: bool, interrupted: str, now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two: the other is answered. In a simulation nothing is lost, and a site would compute twice."""
    lossy, seconds = LossyGrid([]), 6.0
    call = getattr(lossy, interrupted)

    def wait_for_the_server(what: Iterable[Any]) -> Any:
        nonlocal seconds
        now[0] += seconds
        seconds = 0.0
        return call(what)

    monkeypatch.setattr(lossy, interrupted, wait_for_the_server)
    pull = lossy.pull_messages
    monkeypatch.setattr(lossy, "pull_messages", lambda ids: pull([one for one in ids if one != "0"]))
    grid: Any = PackedGrid(lossy) if deployed else lossy  # type: ignore[arg-type]
    replies = exchange(
        grid, [Message(RecordDict(), node, "query.join") for node in (7, 8)], 600.0, Costs(), {}
    )
    assert (sorted(replies), len(lossy.asked)) == (([7, 8], 3) if deployed else ([8], 2))
    assert (now[0] < 30) == deployed


def test_a_question_is_handed_over_again_when_the_server_has_forgotten_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grid = LossyGrid([])
    push, tried = grid.push_messages, []

    def fail_twice(messages: list[Message]) -> list[str]:
        tried.append(messages[0])
        if len(tried) < 3:
            raise ObjectPushError("part", 1, "session")
        return push(messages)

    monkeypatch.setattr(grid, "push_messages", fail_twice)
    set_clock(monkeypatch, exchanging, sleep=lambda _: None)
    replies = exchange(grid, [Message(RecordDict(), 7, "query.join")], 600.0, Costs(), {})  # type: ignore[arg-type]
    assert (len(replies), len({id(one) for one in tried})) == (1, 3)


def test_what_all_sites_complain_of_before_they_have_joined_is_one_line_with_their_names() -> None:
    texts = [f"Site '{name}' has bound=1. Correct it." for name in ("north", "south", "west")]
    other = "Site 'east': The table 'east' is empty."
    assert by_reason((text, "") for text in [*texts, other, other]) == [
        "Site 'east': The table 'east' is empty.",
        "Site 'north' has bound=1. Correct it. The same at 'south', 'west'.",
    ]


def test_a_reason_that_names_no_site_says_nothing_of_some_sites_only() -> None:
    assert by_reason([("No key.", "north"), ("No key.", "south"), ("No key.", "")]) == ["No key."]
