"""Where the time of a training went, from result.json and the hospitals' logs."""

import json
from pathlib import Path

import pytest

from clients.gate.answering import SPENT
from simulations.deployment.log_lines import plain_lines
from simulations.deployment.time_spent import TimeSpent


def test_our_work_is_told_apart_from_waiting(tmp_path: Path) -> None:
    phases = {
        "join": {"seconds": 8.0, "waiting": 7.5, "work": 0.25},
        "cutting planes": {"seconds": 32.0, "waiting": 31.0, "work": 0.75},
    }
    (tmp_path / "result.json").write_text(json.dumps({"round_trips": 5, "phases": phases}))
    lines = [
        SPENT % ("join", 0.5, 0.25, 1.5),
        "asked for cuts",
        SPENT % ("cuts", 9.0, 0.75, 1.25),
        "work on 'x': much",
    ]
    (tmp_path / "north.log").write_text("".join(plain_lines(f"INFO :      {line}\n" for line in lines)))
    (tmp_path / "south.log").write_text(SPENT % ("join", 0.5, 0.5, 9.0))
    spent = TimeSpent.of(tmp_path, [tmp_path / "north.log", tmp_path / "south.log"])
    assert spent == TimeSpent(5, 40.0, 38.5, 1.0, 1.0, 2.75)
    assert spent.share == pytest.approx(0.05)
    assert str(spent).startswith(
        "5 round trips in 40 s, of which 38 s of waiting for answers; our work 5.0 %"
    )
