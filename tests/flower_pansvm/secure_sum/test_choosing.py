"""Protocols are chosen by name, a user's own as well."""

import pytest

from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.registry import Registry
from flower_pansvm.secure_sum import make, protocol_names, protocol_of, register
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.unprotected.plain import Plain
from flower_pansvm.terms import Terms


class Shouted(Plain):
    """A protocol of a user's own."""

    name = "shouted"


def test_a_user_registers_an_own_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flower_pansvm.secure_sum._protocols", Registry("secure sum"))
    register(Plain)
    register(Shouted)
    assert "shouted" in protocol_names()
    assert isinstance(protocol_of(Terms(aggregation="shouted")), Shouted)
    with pytest.raises(SettingError, match="'shouted'"):
        register(type("Other", (Shouted,), {}))


def test_unknown_names_are_answered_with_the_near_ones() -> None:
    with pytest.raises(SettingError, match="'ring'"):
        make("rings")


@pytest.mark.parametrize("k", [1, -3, 2.5])
def test_too_small_a_k_is_an_error(k: int) -> None:
    with pytest.raises(SettingError, match=f"k is '{k}'"):
        make("k-secure", k=k)


def test_a_roster_with_a_repeated_site_is_refused() -> None:
    with pytest.raises(SumError, match="twice"):
        SumRound("run", "task", 1, 0, ("a", "b", "a"))


@pytest.mark.parametrize(("round_trip", "attempt"), [(-1, 0), (1, -1)])
def test_a_broken_request_is_refused(round_trip: int, attempt: int) -> None:
    with pytest.raises(SumError, match="broken"):
        SumRound("run", "task", round_trip, attempt, ("a", "b"))
