"""Things with names: found by name, near matches, and no name twice."""

import pytest

from flower_pansvm.errors import SettingError
from flower_pansvm.registry import Registry


def test_a_name_is_given_once() -> None:
    shapes: Registry[type] = Registry("shape")
    shapes.register("circle")(float)
    with pytest.raises(SettingError, match="'circle'"):
        shapes.register("circle")(str)
    assert shapes["circle"] is float
