"""Rows grouped by decision value: nobody is lost, no group is small, and order is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flower_pansvm.counts import BINS
from flower_pansvm.metrics import SMALLEST, DecisionGroup, decision_groups


def histogram(**rows: tuple[int, int]) -> np.ndarray:
    """Return a histogram by bin: b7=(2, 1) are two other rows and one of the class in bin 7."""
    counts = np.zeros((2, BINS))
    for name, pair in rows.items():
        counts[:, int(name[1:])] = pair
    return counts


@pytest.mark.parametrize(
    ("counts", "groups"),
    [
        (histogram(b3=(3, 0), b9=(1, 1), b100=(6, 0), b300=(0, 4), b500=(0, 3)), [(4, 1), (6, 0), (0, 7)]),
        # Too few rows at the end belong to the last group.
        (histogram(b3=(5, 0), b9=(0, 5), b10=(0, 1)), [(5, 0), (0, 6)]),
        (histogram(b3=(1, 1)), [(1, 1)]),
        (histogram(), []),
    ],
)
def test_bins_are_put_together_until_five_rows_are_in_a_group(
    counts: np.ndarray, groups: list[tuple[int, int]]
) -> None:
    assert decision_groups(counts) == tuple(DecisionGroup(*group) for group in groups)


def test_the_probability_of_a_group_is_the_mean_over_its_rows() -> None:
    probabilities = np.zeros(BINS)
    probabilities[[3, 9]] = 0.2, 0.7
    (group,) = decision_groups(histogram(b3=(4, 0), b9=(0, 1)), probabilities)
    assert group.probability == pytest.approx((4 * 0.2 + 0.7) / 5)


def test_no_group_has_rows_on_both_sides_of_the_threshold() -> None:
    """What a threshold of .3 was said to find had been that of the nearest group: .2 off, of 32 test rows."""
    probabilities = np.linspace(0, 1, BINS)
    rows = histogram(b100=(4, 0), b150=(2, 1), b160=(1, 1), b400=(0, 2))
    below, above = decision_groups(rows, probabilities, threshold=0.3)
    assert (below.others, below.of_class, above.others, above.of_class) == (6, 1, 1, 3)
    assert above.probability == pytest.approx(probabilities[[160, 160, 400, 400]].mean())
    assert len(decision_groups(rows, probabilities, threshold=0.99)) == len(decision_groups(rows)) == 1


@given(arrays(np.int64, (2, BINS), elements=st.integers(0, 3)))
def test_all_rows_are_in_a_group_and_no_group_is_small(counts: np.ndarray) -> None:
    groups = decision_groups(counts.astype(float))
    assert [sum(group.others for group in groups), sum(group.of_class for group in groups)] == counts.sum(
        axis=1
    ).tolist()
    if counts.sum() >= SMALLEST:
        assert min(group.others + group.of_class for group in groups) >= SMALLEST
