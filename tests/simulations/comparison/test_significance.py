"""Ranks and tests against known answers, scipy, and what must hold of any p-values."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel, wilcoxon

from simulations.comparison.significance import mean_ranks, pair_tests, resampled_tests


def table(**columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame(columns)


@pytest.mark.slow
def test_better_on_every_block_is_found_and_ranked_first() -> None:
    good = np.random.default_rng(0).uniform(0.7, 0.9, 12)
    blocks = table(bad=(good - 0.1).tolist(), good=good.tolist(), middle=(good - 0.05).tolist())
    assert mean_ranks(blocks).to_dict() == {"good": 1.0, "middle": 2.0, "bad": 3.0}
    found = pair_tests(blocks)
    # Twelve signs alike: 2 / 2^12, three pairs.
    assert found["corrected"].tolist() == pytest.approx([3 * 2**-11] * 3)
    assert found["apart"].tolist() == pytest.approx([10, 5, 5])
    assert found["better"].tolist() == ["good", "good", "middle"]


def test_equal_strategies_share_ranks() -> None:
    same = [0.8, 0.9, 0.7, 0.6, 0.85, 0.75, 0.65]
    worse = [value - 0.2 - 0.01 * number for number, value in enumerate(same)]
    blocks = table(a=same, b=same, c=worse, d=worse)
    assert mean_ranks(blocks).to_dict() == {"a": 1.5, "b": 1.5, "c": 3.5, "d": 3.5}
    found = pair_tests(blocks).set_index(["better", "worse"])
    assert found.loc[("a", "b"), "p"] == 1.0
    # Seven blocks and six pairs: nothing can be found.
    assert (found["corrected"] > 0.05).all()


def test_the_tests_are_scipys() -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(size=(20, 3)) + np.array([0, 0.3, 0.6])
    found = pair_tests(pd.DataFrame(values, columns=list("abc")))
    p = {frozenset((pair.better, pair.worse)): pair.p for pair in found.itertuples()}
    assert p[frozenset("ac")] == pytest.approx(wilcoxon(values[:, 0], values[:, 2]).pvalue, abs=0.01)


def test_equal_differences_of_unequal_accuracies_share_their_rank() -> None:
    others = [0.85, 0.72, 0.91, 0.64, 0.77, 0.58]
    steps = [0.03, 0.03, 0.03, 0.03, 0.03, -0.03]
    blocks = table(a=[value + step for value, step in zip(others, steps, strict=True)], b=others)
    # All ranks are 3.5: at most one of six signs differs in 7 of 64 ways, and as many at the other end.
    assert pair_tests(blocks)["p"].tolist() == pytest.approx([14 / 64])


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=6, max_size=6))
@pytest.mark.slow
def test_holm_keeps_the_order_and_is_between_p_and_bonferroni(rows: list[list[float]]) -> None:
    found = pair_tests(pd.DataFrame(rows, columns=list("abcd")))
    p, corrected = found["p"].tolist(), found["corrected"].tolist()
    for own, value in zip(p, corrected, strict=True):
        assert own <= value <= min(1.0, 6 * max(p))
    assert corrected[0] == pytest.approx(min(1.0, 6 * p[0]))
    assert p == sorted(p)
    assert all(one <= other for one, other in pairwise(corrected))


def test_without_test_rows_the_resampled_test_is_students_and_with_them_it_finds_less() -> None:
    values = np.random.default_rng(2).normal(size=(8, 2)) + np.array([1.0, 0.0])
    repeats = pd.DataFrame(values, columns=["a", "b"])
    plain, corrected = (resampled_tests(repeats, share).iloc[0] for share in (0.0, 0.25))
    student = ttest_rel(values[:, 0], values[:, 1])
    interval = student.confidence_interval(0.95)
    assert plain["p"] == pytest.approx(student.pvalue)
    assert (plain["low"], plain["high"]) == pytest.approx((100 * interval.low, 100 * interval.high))
    assert corrected["p"] > plain["p"]
    # 1/8 + 1/4 is three times 1/8.
    widths = [one["high"] - one["low"] for one in (plain, corrected)]
    assert widths[1] == pytest.approx(3**0.5 * widths[0])


def test_equal_repeats_do_not_differ() -> None:
    never = resampled_tests(table(a=[0.8, 0.7] * 3, b=[0.8, 0.7] * 3), 0.25)
    assert never["p"].tolist() == [1.0]
    assert never[["low", "high"]].isna().all(axis=None), "an interval of no width would be certain"
    always = resampled_tests(table(a=[0.8] * 5, b=[0.9] * 5), 0.25)
    assert always[["p", "low", "corrected"]].isna().all(axis=None), "without variance nothing is known"
