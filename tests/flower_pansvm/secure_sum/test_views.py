"""What the coordinator and colluding sites see, for every protocol; what breaks is shown as well."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from flower_pansvm.secure_sum import make
from flower_pansvm.secure_sum.contract import SumRound, Words
from flower_pansvm.secure_sum.keys import mask
from flower_pansvm.secure_sum.rehearsal import Rehearsal, gather_members
from flower_pansvm.secure_sum.wire import from_bytes

ROSTER = ("a", "b", "c", "d", "e")
WORDS = 4000
VECTORS: dict[str, Words] = {name: np.full(WORDS, number, np.uint64) for number, name in enumerate(ROSTER)}
MASKED: list[tuple[str, dict[str, Any]]] = [("ring", {})]


def a_round(round_trip: int = 1, attempt: int = 0, roster: tuple[str, ...] = ROSTER) -> SumRound:
    return SumRound(run="r", task="t", round_trip=round_trip, attempt=attempt, roster=roster)


def looks_uniform(words: Words) -> bool:
    """Whether the bytes pass a chi-square test at 1e-6: a sound protocol fails once in a million."""
    counts = np.bincount(words.astype("<u8").view(np.uint8), minlength=256)
    return bool(chisquare(counts).pvalue > 1e-6)


def rehearse(name: str, options: dict[str, Any], roster: tuple[str, ...] = ROSTER) -> Rehearsal:
    protocol = make(name, **options)
    return Rehearsal(protocol, gather_members(protocol, roster))


def sent(rehearsal: Rehearsal, this: SumRound) -> dict[str, NDArray[np.uint64]]:
    rehearsal.run(VECTORS, this)
    return {name: from_bytes(payload, name) for name, payload in rehearsal.first.items()}


@pytest.mark.parametrize(("name", "options"), MASKED, ids=str)
def test_masked_vectors_are_uniform_and_unrelated(name: str, options: dict[str, Any]) -> None:
    rehearsal = rehearse(name, options)
    once = sent(rehearsal, a_round(1))
    again = sent(rehearsal, a_round(1, attempt=1))
    later = sent(rehearsal, a_round(2))
    for site in ROSTER:
        assert looks_uniform(once[site])
        assert looks_uniform(once[site] - again[site])
        assert looks_uniform(once[site] - later[site])
        assert looks_uniform(once[site] - once["a" if site != "a" else "b"])


def test_plain_hides_nothing() -> None:
    view = sent(rehearse("plain", {}), a_round())
    assert all((view[site] == VECTORS[site]).all() for site in ROSTER)


def test_ring_is_broken_by_both_neighbours_with_the_coordinator() -> None:
    rehearsal = rehearse("ring", {})
    view = sent(rehearsal, a_round())
    left, right = (rehearsal.members[name] for name in ("b", "d"))
    residual = view["c"] - mask(right, a_round(), "c", "d", WORDS) + mask(left, a_round(), "b", "c", WORDS)
    assert (residual == VECTORS["c"]).all()


def test_ring_resists_one_neighbour_with_the_coordinator() -> None:
    rehearsal = rehearse("ring", {})
    view = sent(rehearsal, a_round())
    assert looks_uniform(view["c"] + mask(rehearsal.members["b"], a_round(), "b", "c", WORDS))
