"""Which features go: order, ties, and majorities."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from strategies.selection.voting import least_important, rank_sums, settle, vote

ALL = np.ones(5, dtype=bool)


def indices(*columns: int) -> NDArray[np.int64]:
    return np.array(columns, dtype=np.int64)


def test_only_remaining_features_are_chosen_from() -> None:
    remaining = np.array([True, False, True, False, True])
    found = least_important(np.array([0.3, 0.0, 0.2, 0.0, 0.1]), remaining, 2)
    assert found.tolist() == [4, 2]
    assert np.issubdtype(found.dtype, np.integer)


def test_fewer_remain_than_asked() -> None:
    assert least_important(np.arange(5.0), ALL, 9).tolist() == [0, 1, 2, 3, 4]
    assert least_important(np.arange(5.0), ~ALL, 1).tolist() == []


@given(arrays(np.float64, 5, elements=st.floats(0.1, 1.0)), st.integers(0, 100))
def test_identical_features_keep_their_order_whatever_the_rounding(
    scores: NDArray[np.float64], seed: int
) -> None:
    twice = np.repeat(np.round(scores, 3), 2)
    noise = 1 + 1e-13 * np.random.default_rng(seed).normal(size=10)
    mask = np.ones(10, dtype=bool)
    assert (least_important(twice * noise, mask, 10) == least_important(twice, mask, 10)).all()


@given(
    arrays(np.float64, 8, elements=st.floats(-10, 10).map(lambda score: round(score, 1))), st.integers(1, 8)
)
def test_the_order_is_by_score_and_then_from_the_last_column(scores: NDArray[np.float64], count: int) -> None:
    known = sorted(range(8), key=lambda column: (scores[column], -column))[:count]
    assert least_important(scores, np.ones(8, dtype=bool), count).tolist() == known


def test_one_criterion_decides_alone() -> None:
    assert vote([indices(5, 2, 9)]).tolist() == [5, 2, 9]


def test_voted_features_come_by_the_sum_of_their_places() -> None:
    # Feature 7: 0 + 3 + 0, feature 8: 1 + 0 + 1, feature 9: 2 + 1 + 3; 5 and 6 have one vote each.
    assert vote([indices(7, 8, 9), indices(8, 9, 5), indices(7, 8, 6)]).tolist() == [8, 7, 9]


def test_of_equal_sums_the_later_column_comes_first() -> None:
    assert vote([indices(1, 2), indices(2, 1), indices(3, 4)]).tolist() == [2, 1]


@given(st.lists(st.permutations(range(6)).map(lambda order: order[:3]), min_size=2, max_size=4))
def test_exactly_the_features_with_two_votes_are_voted_for(proposals: list[list[int]]) -> None:
    votes = Counter(column for proposal in proposals for column in proposal)
    found = vote([indices(*proposal) for proposal in proposals]).tolist()
    assert sorted(found) == sorted(column for column, number in votes.items() if number >= 2)
    assert vote([indices(*proposal) for proposal in reversed(proposals)]).tolist() == found


def test_the_most_accurate_proposal_is_followed_whatever_the_ranks() -> None:
    proposals = {"svm-rfe": [0], "rsvm": [1], "svm-t": [2]}
    ranks = np.array([0, 1, 9])
    assert settle(proposals, {"svm-rfe": 0.8, "rsvm": 0.8, "svm-t": 0.81}, ranks) == "svm-t"


@pytest.mark.parametrize("best", ["svm-rfe", "rsvm", "svm-t"])
def test_of_equally_accurate_proposals_the_least_important_by_all_criteria_goes(best: str) -> None:
    """Each criterion puts its own feature last; the two others put one of these second, which then goes."""
    own = {"svm-rfe": 0, "rsvm": 1, "svm-t": 2}
    scores = []
    for name, feature in own.items():
        score = np.array([5.0, 5.0, 5.0, 4.0])
        score[feature] = 1.0
        if name != best:
            score[own[best]] = 2.0
        scores.append(score)
    ranks = rank_sums(scores, np.ones(4, dtype=bool))
    assert settle({name: [one] for name, one in own.items()}, dict.fromkeys(own, 0.9), ranks) == best


def test_features_that_are_gone_have_no_rank() -> None:
    remaining = np.array([True, False, True])
    assert rank_sums([np.array([3.0, 1.0, 2.0])] * 2, remaining).tolist() == [2, 0, 0]
