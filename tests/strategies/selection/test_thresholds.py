"""What passes the filters, and the text when nothing does."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import rankdata

from flower_pansvm.errors import TrainingError
from strategies.selection.filters import FilterScores
from strategies.selection.outcome import Screening
from strategies.selection.thresholds import Thresholds, filter_order, parsed, passing, screen

SCORES = np.array([0.5, 3.0, 0.0, 1.0, 2.0])
ANYTHING = {"fisher": "100%", "welch": "100%", "scatter": "100%"}


def kept_by(text: str, scores: NDArray[np.float64]) -> list[int]:
    threshold = Thresholds.parse(f"fisher={text}").fisher
    return np.flatnonzero(passing("fisher", threshold, scores_of(scores, scores, scores))).tolist()


def scores_of(
    fisher: NDArray[np.float64], welch: NDArray[np.float64], scatter: NDArray[np.float64]
) -> FilterScores:
    return FilterScores(fisher, welch, np.exp(-welch), scatter)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        *((text, [1]) for text in ("1", "20%")),
        *((text, [1, 3, 4]) for text in ("3", "50%", "50.5 %")),
        *((text, [0, 1, 3, 4]) for text in (" 4 ", "5", "500", "100%")),
    ],
)
def test_counts_and_shares_keep_the_best_but_never_a_score_of_zero(text: str, kept: list[int]) -> None:
    assert kept_by(text, SCORES) == kept


def test_a_share_is_rounded_up_but_not_by_rounding_errors() -> None:
    ascending = np.arange(1.0, 1001.0)
    assert len(kept_by("33.3%", ascending)) == 333
    assert len(kept_by("0.01%", ascending)) == 1
    assert len(kept_by("7%", ascending[:100])) == 7


def test_of_equal_scores_the_earlier_columns_pass() -> None:
    assert kept_by("3", np.array([1.0, 2.0, 1.0, 2.0, 1.0])) == [0, 1, 3]
    assert kept_by("2", np.full(4, np.inf)) == [0, 1]


def test_a_score_that_is_no_number_never_passes() -> None:
    assert kept_by("100%", np.array([np.nan, 1.0, np.nan])) == [1]
    assert kept_by("1", np.array([np.nan, 1.0, 2.0])) == [2]


def test_a_p_value_keeps_what_is_below_it() -> None:
    p_values = np.array([0.009, 0.01, 0.0, np.nan, 0.001])
    own = np.array([3.0, 2.0, np.inf, 1.0, 0.0])
    scores = FilterScores(own, own, p_values, own)
    assert np.flatnonzero(passing("welch", "p=0.01", scores)).tolist() == [0, 2]


NEITHER_NUMBER_NOR_SHARE = ("", "0", "-3", "1.5", "0%", "101%", "nan%", "%", "most", "0.5", "inf", "p0.01")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((name, text) for name in ("fisher", "welch") for text in NEITHER_NUMBER_NOR_SHARE),
        *(("welch", text) for text in ("p=", "p=0", "p=-1", "p=1.5", "p=nan", "p=small")),
        # Only the Welch test has p-values.
        *((name, "p=0.01") for name in ("fisher", "scatter")),
    ],
)
def test_anything_else_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - as of int and float
        parsed(name, text)


def test_a_filter_that_is_not_named_is_as_usual() -> None:
    found = Thresholds.parse("scatter = 3, welch=p=0.5")
    assert found == Thresholds(welch="p=0.5", scatter="3")
    assert Thresholds.parse(found.text) == found
    assert Thresholds.parse(Thresholds().text) == Thresholds()


def test_features_that_all_filters_keep_are_voted_for() -> None:
    scores = scores_of(
        np.array([4.0, 3.0, 2.0, 1.0]), np.array([9.0, 1.0, 8.0, 7.0]), np.array([2.0, 3.0, 4.0, 1.0])
    )
    found = screened(scores, {"fisher": "75%", "welch": "p=0.01", "scatter": "3"})
    assert found.kept == (0, 2)
    assert found.passed == {"fisher": 3, "welch": 3, "scatter": 3}
    assert found.thresholds == {"fisher": "75%", "welch": "p=0.01", "scatter": "3"}


def test_a_constant_column_is_screened_out() -> None:
    column = np.array([1.0, 0.0, 2.0])
    assert screened(scores_of(column, column, column), ANYTHING).kept == (0, 2)


def screened(scores: FilterScores, texts: dict[str, str]) -> Screening:
    """Screen with thresholds as a user writes them."""
    return screen(scores, Thresholds.parse(",".join(f"{name}={text}" for name, text in texts.items())))


def suggested(error: TrainingError) -> tuple[dict[str, str], int]:
    """Return the thresholds that an error suggests, and how many features they would leave."""
    found = dict(part.split("=") for part in re.findall(r"filters=(\S+)", str(error))[0].split(","))
    return found, int(re.findall(r"would leave (\d+)\.$", str(error))[0])


@given(st.integers(0, 1000), st.integers(2, 40))
def test_the_suggested_thresholds_leave_what_the_text_says(seed: int, features: int) -> None:
    random = np.random.default_rng(seed)
    fisher, welch, scatter = random.integers(0, 5, size=(3, features)).astype(float)
    scores = scores_of(fisher, welch, scatter)
    able = int(((fisher > 0) & (welch > 0) & (scatter > 0)).sum())
    # No |t| is above 4, so no p-value is below exp(-4): nothing passes.
    with pytest.raises(TrainingError) as error:
        screened(scores, {"fisher": "1", "welch": "p=1e-9", "scatter": "1"})
    if able:
        thresholds, left = suggested(error.value)
        assert len(screened(scores, thresholds).kept) == left >= min(10, able)
    else:
        assert "no threshold helps" in str(error.value)


@given(st.integers(0, 1000))
def test_the_filter_order_is_the_mean_of_the_ranks(seed: int) -> None:
    three = np.random.default_rng(seed).integers(0, 6, size=(3, 12)).astype(float)
    three[three == 5] = np.inf
    np.testing.assert_allclose(filter_order(scores_of(*three)), rankdata(three, axis=1).mean(axis=0))


def test_identical_features_have_the_same_place_in_the_filter_order_whatever_the_rounding() -> None:
    three = np.random.default_rng(0).random((3, 12))
    twice = np.hstack([three, three * (1 + 1e-13)])
    first, second = np.split(filter_order(scores_of(*twice)), 2)
    assert (first == second).all()
