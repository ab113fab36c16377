"""How a request is answered: by the row that a hospital agrees by, and with no word of how long it took."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Message, RecordDict

from clients.app import TASKS, app
from clients.gate.levels import DP, SIMULATED
from clients.gate.pipeline import handler
from clients.hospital import SimulatedContext
from flower_pansvm.errors import SettingError
from flower_pansvm.systems.common import JOIN
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.settings import make_settings
from tests.contexts import SIMULATED_NODE, context_of


@pytest.mark.parametrize("simulated", [False, True])
def test_a_hospital_s_own_log_says_how_long_an_answer_took_and_the_reply_does_not(
    simulated: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hospital: dict[str, Scalar] = {"name": "north", "state": str(tmp_path / "state")}
    grid = InProcessGrid(app, [SIMULATED_NODE if simulated else hospital], make_settings().to_config())
    with caplog.at_level("INFO", logger="flwr"):
        (reply,) = grid.send_and_receive([Message(RecordDict(), 2, JOIN.message_type)])
    assert reply.has_error()
    assert "processor" not in reply.error.reason
    told = [line for line in caplog.messages if line.startswith("work on 'join': ")]
    assert len(told) == (0 if simulated else 1)


WRONG = ({"leaves": DP}, {"leaves": SIMULATED}, {"category": "query"}, {"consents": ("extremes",)})


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_row_that_says_something_else_than_its_task_is_refused_before_the_task_is_answered(
    wrong: dict[str, Any],
) -> None:
    row = replace(TASKS["moments"], **wrong)
    context = context_of(SIMULATED_NODE, kind=SimulatedContext)
    message = Message(RecordDict(), 2, "train.moments")
    message.metadata.__dict__["_message_id"] = "1"
    reply = handler("moments", row)(message, context)
    assert (reply.error.code, len(context.state)) == (SettingError.code, 0)
    assert "moments" in reply.error.reason
    right = handler("moments", TASKS["moments"])(message, context)
    assert right.error.code != SettingError.code
