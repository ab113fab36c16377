"""A comparison's plan, and lines of a table without the runs."""

from collections.abc import Callable
from typing import Any

import pytest

from simulations.comparison.plan import Plan

COMMON = {"label": "", "positive": "", "sites": 3, "test-fraction": 0.2, "data-dir": ""}


def plan(**changes: Any) -> Plan:
    """Return the plan of a small comparison."""
    usual = {
        "data": ("iris",),
        "strategies": ("local-only", "central:tree"),
        "splits": ("iid",),
        "aggregations": ("ring",),
        "repeats": 2,
        "seed": 0,
        "common": COMMON,
        "varied": {},
    }
    return Plan(**{**usual, **changes})


@pytest.fixture
def line() -> Callable[..., dict[str, Any]]:
    """Return a function that makes the line of a finished run."""

    def make(strategy: str, repeat: int = 0, **figures: object) -> dict[str, Any]:
        values = {"data": "iris", "split": "iid", "settings": "", "aggregation": "ring", "seed": repeat}
        return {"strategy": strategy, "repeat": repeat, **values, **figures}

    return make
