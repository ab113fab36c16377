from dataclasses import replace
from typing import Any

import pytest

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.refusals import Memory, admit, admit_opening

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


NOT_LATER = [(3, 1), (3, 0), (2, 7)]
OTHER_ORDERS = ["bca", "cab", "bac", "acb"]


@pytest.mark.parametrize(
    ("memory", "change", "site", "least"),
    [
        *(
            (remembered(), {"round_trip": trip, "attempt": again, "task": "u"}, "a", 3)
            for trip, again in NOT_LATER
        ),
        *((remembered(), {"round_trip": 9, "roster": tuple(order)}, "a", 3) for order in OTHER_ORDERS),
        *((Memory("r"), {"roster": tuple(order)}, "a", 3) for order in OTHER_ORDERS),
        (Memory("r"), {}, "a", 4),
        (Memory("r"), {}, "d", 3),
        (Memory("other"), {}, "a", 3),
    ],
    ids=str,
)
def test_a_sum_is_refused_that_is_not_later_or_of_another_run_order_or_size(
    memory: Memory, change: dict[str, Any], site: str, least: int
) -> None:
    with pytest.raises(SumError):
        admit(memory, replace(FIRST, **change), site, PUBLISHED, min_sites=least)


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


@pytest.mark.parametrize("name", ["a", "b", "d", "e"])
def test_a_changed_or_a_further_key_is_refused_even_of_a_site_that_was_left_out(name: str) -> None:
    memory = admit(remembered(), replace(FIRST, round_trip=4, attempt=0), "a", PUBLISHED, min_sites=3)
    swapped = {**PUBLISHED, name: b"\x09" * 32}
    with pytest.raises(SumError, match=f"'{name}'") as caught:
        admit(memory, replace(FIRST, round_trip=5), "a", swapped, min_sites=3)
    assert "0909" not in str(caught.value)


@pytest.mark.parametrize(
    ("memory", "names", "missing"), [(remembered(), "abc", "d"), (Memory("r"), "ab", "c")]
)
def test_the_keys_of_all_sites_must_be_handed_out_those_that_were_left_out_among_them(
    memory: Memory, names: str, missing: str
) -> None:
    """The order of the sites is drawn from the keys of all."""
    with pytest.raises(SumError, match=f"'{missing}'"):
        admit(
            memory, replace(FIRST, round_trip=4), "a", {name: PUBLISHED[name] for name in names}, min_sites=3
        )


def test_after_a_sum_is_opened_no_attempt_at_it_is_admitted() -> None:
    """The difference of two would be the vector of a site that the coordinator says has dropped out."""
    opened = admit_opening(remembered(), FIRST, "a", ("a", "b", "c"))
    with pytest.raises(SumError):
        admit(opened, replace(FIRST, attempt=2), "a", PUBLISHED, min_sites=2)
    assert admit(opened, replace(FIRST, round_trip=4), "a", PUBLISHED, min_sites=3).round_trip == 4


def test_a_sum_is_opened_over_as_many_sites_as_this_one_asks_for() -> None:
    with pytest.raises(SumError):
        admit_opening(remembered(), FIRST, "a", ("a", "b"))
