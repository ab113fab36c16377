"""A comparison's plan, and lines of a table without the runs."""

from typing import Any

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


def line(strategy: str, repeat: int = 0, **figures: object) -> dict[str, Any]:
    """Return the line of a finished run."""
    values = {"data": "iris", "split": "iid", "settings": "", "aggregation": "ring", "seed": repeat}
    return {"strategy": strategy, "repeat": repeat, **values, **figures}
