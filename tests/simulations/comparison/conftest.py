"""Lines of a table without the runs."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def line() -> Callable[..., dict[str, Any]]:
    """Return a function that makes the line of a finished run."""

    def make(strategy: str, repeat: int = 0, **figures: object) -> dict[str, Any]:
        values = {"data": "iris", "split": "iid", "settings": "", "aggregation": "ring", "seed": repeat}
        return {"strategy": strategy, "repeat": repeat, **values, **figures}

    return make
