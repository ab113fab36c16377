"""How long an answer took is for the hospital alone: it follows from its rows."""

from pathlib import Path

import pytest
from flwr.app import Message, RecordDict

from clients.app import app
from flower_pansvm.systems.common import JOIN
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.settings import make_settings


@pytest.mark.parametrize("simulated", [False, True])
def test_a_hospital_s_own_log_says_how_long_an_answer_took_and_the_reply_does_not(
    simulated: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node: dict[str, Scalar] = {"name": "north", "state": str(tmp_path / "state")}
    if simulated:
        node = {"partition-id": 0, "num-partitions": 3}
    grid = InProcessGrid(app, [node], {**make_settings().to_config()})
    with caplog.at_level("INFO", logger="flwr"):
        (reply,) = grid.send_and_receive([Message(RecordDict(), 2, JOIN.message_type)])
    assert reply.has_error()
    assert "processor" not in reply.error.reason
    told = [line for line in caplog.messages if line.startswith("work on 'join': ")]
    assert len(told) == (0 if simulated else 1)
