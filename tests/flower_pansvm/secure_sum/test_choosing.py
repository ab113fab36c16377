"""Options and rounds of a secure sum that cannot be."""

import pytest

from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.secure_sum import protocol_class
from flower_pansvm.secure_sum.contract import SumRound


@pytest.mark.parametrize("k", [1, -3, 2.5])
def test_too_small_a_k_is_an_error(k: int) -> None:
    with pytest.raises(SettingError, match=f"k is '{k}'"):
        protocol_class("k-secure")(k=k)


def test_a_roster_with_a_repeated_site_is_refused() -> None:
    with pytest.raises(SumError, match="twice"):
        SumRound("run", "task", 1, 0, ("a", "b", "a"))


@pytest.mark.parametrize(("round_trip", "attempt"), [(-1, 0), (1, -1)])
def test_a_broken_request_is_refused(round_trip: int, attempt: int) -> None:
    with pytest.raises(SumError, match="broken"):
        SumRound("run", "task", round_trip, attempt, ("a", "b"))
