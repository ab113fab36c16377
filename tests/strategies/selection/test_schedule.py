"""Steps of the elimination: what the setting means, and what it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.constraints import read
from flower_pansvm.errors import SettingError
from strategies.selection.schedule import schedules, step_size

TEXTS = ("1", "0.1", "0.5", "0.999", "auto", "1000:0.5,100:0.1,1", "10:1,0.5")


@pytest.mark.parametrize("text", ["1", " 1 ", "1.0"])
def test_one_removes_one_feature_at_a_time(text: str) -> None:
    assert [step_size(read("step", text, schedules()), remaining) for remaining in (2, 30, 7129)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("text", "remaining", "size"), [("0.1", 2000, 200), ("0.1", 109, 10), ("0.1", 9, 1), ("0.29", 100, 29)]
)
def test_a_share_is_of_those_that_remain_rounded_down_but_one(text: str, remaining: int, size: int) -> None:
    assert step_size(text, remaining) == size


@pytest.mark.parametrize(
    ("remaining", "size"), [(7129, 3564), (1001, 500), (1000, 100), (101, 10), (100, 1), (2, 1)]
)
def test_a_schedule_goes_by_how_many_remain(remaining: int, size: int) -> None:
    assert step_size("1000:0.5, 100:0.1, 1", remaining) == size


def test_auto_is_one_by_one_up_to_fifty_features() -> None:
    sizes = [step_size("auto", remaining) for remaining in (2000, 101, 51, 50, 2)]
    assert sizes == [200, 10, 5, 1, 1]


@given(st.sampled_from(TEXTS), st.integers(2, 10000))
def test_a_step_removes_something_and_never_everything(text: str, remaining: int) -> None:
    assert 1 <= step_size(text, remaining) < remaining


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "-1", "1.5", "2", "nan", "inf", "half", "10%"),
        *("100:0.1", "100:0.1,", "100:0.1,1,1", "100:0.1,1000:0.5,1", "100:0.5,100:0.1,1", "0:0.1,1"),
        *("100:2,1", "100:0,1", "1.5:0.1,1", "-5:0.1,1", "100:0.1:3,1", "many:0.1,1", "auto,1"),
    ],
)
def test_anything_else_is_refused_and_the_text_says_what_a_step_is(text: str) -> None:
    with pytest.raises(SettingError) as error:
        read("step", text, schedules())
    assert str(error.value).startswith(f"step is '{text}', but it must be 1")
    assert "1000:0.5,100:0.1,1" in str(error.value)
