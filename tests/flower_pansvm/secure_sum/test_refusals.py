from dataclasses import replace

import pytest

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.refusals import Memory, admit

PUBLISHED = {"a": b"\x01" * 32, "b": b"\x02" * 32, "c": b"\x03" * 32, "d": b"\x04" * 32}
FIRST = SumRound(run="r", task="t", round_trip=3, attempt=1, roster=("a", "b", "c"))


def remembered() -> Memory:
    return admit(Memory("r"), FIRST, "a", PUBLISHED, min_sites=3)


def test_memory_survives_as_text() -> None:
    assert Memory.from_json(remembered().to_json()) == remembered()
    assert Memory.from_json(Memory("r").to_json()) == Memory("r")


@pytest.mark.parametrize(("round_trip", "attempt"), [(3, 2), (4, 0), (9, 5)])
def test_later_sums_are_admitted(round_trip: int, attempt: int) -> None:
    later = replace(FIRST, round_trip=round_trip, attempt=attempt)
    memory = admit(remembered(), later, "a", PUBLISHED, min_sites=3)
    assert (memory.round_trip, memory.attempt) == (round_trip, attempt)


@pytest.mark.parametrize(("round_trip", "attempt"), [(3, 1), (3, 0), (2, 7)])
def test_the_same_or_an_earlier_sum_is_refused(round_trip: int, attempt: int) -> None:
    again = replace(FIRST, round_trip=round_trip, attempt=attempt, task="another")
    with pytest.raises(SumError):
        admit(remembered(), again, "a", PUBLISHED, min_sites=3)


def test_too_few_sites_are_refused() -> None:
    with pytest.raises(SumError):
        admit(Memory("r"), FIRST, "a", PUBLISHED, min_sites=4)


@pytest.mark.parametrize("later", [{"attempt": 2}, {"round_trip": 4, "attempt": 0}], ids=str)
def test_a_roster_may_shrink_but_not_grow(later: dict[str, int]) -> None:
    """Otherwise a coordinator leaves out one site after the other, and has each one's numbers by a difference."""
    grown = replace(FIRST, **later, roster=("a", "b", "c", "d"))  # type: ignore[arg-type]
    with pytest.raises(SumError):
        admit(remembered(), grown, "a", PUBLISHED, min_sites=3)
    exchanged = replace(FIRST, **later, roster=("a", "b", "d"))  # type: ignore[arg-type]
    with pytest.raises(SumError):
        admit(remembered(), exchanged, "a", PUBLISHED, min_sites=3)
    shrunk = replace(FIRST, **later, roster=("a", "c"))  # type: ignore[arg-type]
    assert admit(remembered(), shrunk, "a", PUBLISHED, min_sites=2).roster == ("a", "c")


@pytest.mark.parametrize("roster", [("b", "c", "a"), ("c", "a", "b"), ("b", "a", "c"), ("a", "c", "b")])
def test_a_roster_in_another_order_is_refused(roster: tuple[str, ...]) -> None:
    for memory in (Memory("r"), remembered()):
        with pytest.raises(SumError):
            admit(memory, replace(FIRST, round_trip=9, roster=roster), "a", PUBLISHED, min_sites=3)


def test_a_roster_without_the_site_is_refused() -> None:
    with pytest.raises(SumError):
        admit(Memory("r"), FIRST, "d", PUBLISHED, min_sites=3)


def test_another_run_is_refused() -> None:
    with pytest.raises(SumError):
        admit(Memory("other"), FIRST, "a", PUBLISHED, min_sites=3)


@pytest.mark.parametrize("name", ["a", "b", "d", "e"])
def test_a_changed_or_a_further_key_is_refused_even_of_a_site_that_was_left_out(name: str) -> None:
    memory = admit(remembered(), replace(FIRST, round_trip=4, attempt=0), "a", PUBLISHED, min_sites=3)
    swapped = {**PUBLISHED, name: b"\x09" * 32}
    with pytest.raises(SumError, match=f"keys of site '{name}'"):
        admit(memory, replace(FIRST, round_trip=5), "a", swapped, min_sites=3)


def test_the_keys_of_a_site_that_was_left_out_must_be_handed_out_all_the_same() -> None:
    """The order of the sites is drawn from the keys of all."""
    with pytest.raises(SumError, match="'d'"):
        admit(remembered(), replace(FIRST, round_trip=4), "a", {k: PUBLISHED[k] for k in "abc"}, min_sites=3)


def test_a_site_of_the_roster_without_published_keys_is_refused() -> None:
    with pytest.raises(SumError, match="'c'"):
        admit(Memory("r"), FIRST, "a", {"a": b"1", "b": b"2"}, min_sites=3)


def test_a_refusal_names_no_key() -> None:
    with pytest.raises(SumError) as caught:
        admit(remembered(), replace(FIRST, round_trip=4), "a", {**PUBLISHED, "b": b"\x09" * 32}, 3)
    assert "0909" not in str(caught.value)
    assert "0202" not in str(caught.value)
