"""Whoever lets the coordinator wait is named."""

from unittest.mock import Mock

import pytest
from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from strategies.federation import exchange as exchanging
from strategies.federation.exchange import Costs, exchange


def silent_grid(messages: list[str]) -> Grid:
    """Return a grid whose nodes never answer."""
    grid = Mock(spec=Grid)
    grid.push_messages.return_value = messages
    grid.pull_messages.return_value = []
    return grid


@pytest.mark.parametrize(
    ("names", "told"), [({7: "south", 8: "north"}, "north, south"), ({}, "node 7, node 8")]
)
def test_a_line_now_and_then_says_who_is_waited_for(
    names: dict[int, str], told: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    monkeypatch.setattr(exchanging.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(exchanging.time, "sleep", lambda _: now.__setitem__(0, now[0] + 1.0))
    messages = [Mock(spec=Message, content=RecordDict(), metadata=Mock(dst_node_id=node)) for node in (7, 8)]
    with caplog.at_level("INFO", logger="flwr"):
        assert exchange(silent_grid(["a", "b"]), messages, 40.0, Costs(), names) == {}
    assert caplog.messages == [f"waiting for {told} since {seconds} s" for seconds in (16, 31)]
