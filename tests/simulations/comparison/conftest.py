"""Lines of a table without the runs."""

from collections.abc import Callable

import pytest

from simulations.comparison.run import Finished


@pytest.fixture
def line() -> Callable[..., Finished]:
    """Return a function that makes a finished run."""

    def make(strategy: str, repeat: int = 0, **figures: object) -> Finished:
        values = {"data": "iris", "split": "iid", "settings": "", "aggregation": "ring", "seed": repeat}
        return Finished(strategy=strategy, repeat=repeat, **{**values, **figures})  # type: ignore[arg-type]

    return make
