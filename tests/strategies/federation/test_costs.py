"""What a phase has cost: waiting and work told apart."""

import pytest

from strategies.federation import exchange as costs_module
from strategies.federation.exchange import Costs


def test_waiting_is_told_apart_from_the_coordinator_s_own_work(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, processor = [0.0], [0.0]

    def pass_time(seconds: float, worked: float) -> None:
        clock[0] += seconds
        processor[0] += worked

    monkeypatch.setattr(costs_module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(costs_module.time, "process_time", lambda: processor[0])
    costs = Costs()
    pass_time(100.0, 50.0)
    for _ in range(2):
        with costs.phase("cutting planes"):
            pass_time(2.0, 1.0)
            with costs.wait():
                pass_time(10.0, 3.0)
                costs.round_trips += 1
    with costs.phase("feature map"):
        pass_time(0.5, 0.25)
    nothing = {"round_trips": 0, "bytes_up": 0, "bytes_down": 0, "waiting": 0.0}
    assert costs.phases == {
        "cutting planes": {
            **nothing,
            "seconds": 24.0,
            "cpu_seconds": 8.0,
            "round_trips": 2,
            "waiting": 20.0,
            "work": 2.0,
        },
        "feature map": {**nothing, "seconds": 0.5, "cpu_seconds": 0.25, "work": 0.25},
    }
