"""Ranks and tests against known answers, scipy, and what must hold of any p-values."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, wilcoxon

from simulations.comparison.significance import holm, rank, signed_rank


def table(**columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame(columns)


@pytest.mark.slow
def test_better_on_every_block_is_found_and_ranked_first() -> None:
    generator = np.random.default_rng(0)
    good = generator.uniform(0.7, 0.9, 12)
    found = rank(table(bad=(good - 0.1).tolist(), good=good.tolist(), middle=(good - 0.05).tolist()))
    assert found.mean_ranks == {"good": 1.0, "middle": 2.0, "bad": 3.0}
    assert found.friedman is not None
    assert found.friedman < 1e-4
    # Twelve signs alike: 2 / 2^12, three pairs.
    assert [pair.corrected for pair in found.pairs] == pytest.approx([3 * 2**-11] * 3)
    assert all(pair.found for pair in found.pairs)
    assert found.smallest == pytest.approx(3 * 2**-11)


def test_equal_strategies_share_ranks() -> None:
    same = [0.8, 0.9, 0.7, 0.6, 0.85, 0.75, 0.65]
    worse = [value - 0.2 - 0.01 * number for number, value in enumerate(same)]
    found = rank(table(a=same, b=same, c=worse, d=worse))
    assert found.mean_ranks == {"a": 1.5, "b": 1.5, "c": 3.5, "d": 3.5}
    # Seven blocks and six pairs: nothing can be found.
    assert found.smallest > 0.05


def test_the_tests_are_scipys() -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(size=(20, 3)) + np.array([0, 0.3, 0.6])
    found = rank(pd.DataFrame(values, columns=list("abc")))
    assert found.friedman == pytest.approx(friedmanchisquare(*values.T).pvalue)
    p = {frozenset((pair.first, pair.second)): pair.p for pair in found.pairs}
    assert p[frozenset("ac")] == pytest.approx(wilcoxon(values[:, 0], values[:, 2]).pvalue, abs=0.01)


def test_too_little_to_compare_is_not_tested() -> None:
    few = [0.5, 0.6, 0.7, 0.8, 0.9]
    assert rank(table(a=[*few, 0.4])) is None
    assert rank(table(a=few, b=few)) is None
    two = rank(table(a=[*few, 0.4], b=[0.6, *few]))
    assert two.friedman is None
    equal = rank(table(a=[*few, 0.4], b=[*few, 0.4], c=[*few, 0.4]))
    assert equal.friedman == 1.0


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6).map(np.array))
@pytest.mark.slow
def test_a_signed_rank_test_has_no_side(differences: np.ndarray) -> None:
    p = signed_rank(differences)
    assert 2.0 ** (1 - len(differences)) <= p + 1e-12
    assert p <= 1
    assert p == pytest.approx(signed_rank(-differences))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_is_between_p_and_bonferroni(p: list[float]) -> None:
    corrected = holm(p)
    for own, value in zip(p, corrected, strict=True):
        assert own <= value <= min(1.0, len(p) * max(p))
    assert corrected[int(np.argmin(p))] == pytest.approx(min(1.0, len(p) * min(p)))
    for one, other in zip(np.argsort(p, kind="stable")[:-1], np.argsort(p, kind="stable")[1:], strict=True):
        assert corrected[one] <= corrected[other]
