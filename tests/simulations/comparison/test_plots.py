"""The plots of a comparison show all that they say."""

from typing import Any

import pytest

from simulations.comparison.plots import accuracy_figure, limits_of
from simulations.comparison.summary import frame
from tests.simulations.comparison.conftest import line


def test_whiskers_end_within_the_axis() -> None:
    runs = frame([line("a", repeat, accuracy=accuracy) for repeat, accuracy in enumerate((0.8, 0.98))])
    limits = limits_of(runs)
    (axes,) = accuracy_figure(runs, limits, ["a"], []).axes
    marks: Any = axes.containers[0]
    (whisker,) = marks.lines[2]
    low, high = whisker.get_segments()[0][:, 0]
    assert (low, high) == pytest.approx((0.89 - 0.09 * 2**0.5, 0.89 + 0.09 * 2**0.5))
    assert axes.get_xlim() == limits
    assert limits[0] < low < high < limits[1]
