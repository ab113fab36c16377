"""Things with names: found by name, near matches, and no name twice."""

import pytest

from flower_pansvm.errors import SettingError
from flower_pansvm.registry import Registry


@pytest.fixture
def shapes() -> Registry[type]:
    found: Registry[type] = Registry("shape")
    found.register("square")(int)
    found.register("circle")(float)
    return found


def test_a_name_is_given_once(shapes: Registry[type]) -> None:
    with pytest.raises(SettingError, match="'circle'"):
        shapes.register("circle")(str)
    assert shapes["circle"] is float
