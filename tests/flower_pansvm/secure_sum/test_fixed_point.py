from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.secure_sum.decoding import decode, words_needed
from flower_pansvm.secure_sum.fixed_point import encode, scale_exponent
from flower_pansvm.secure_sum.limbs import LOWEST_BIT, WIDE_LIMIT, WIDE_SITES

finite = st.floats(allow_nan=False, allow_infinity=False)


def federated_sum(columns: list[list[float]], bound: float | None) -> Any:
    """Encode each site's column, add the words, decode."""
    sites = len(columns)
    words = [encode(np.array(column), bound, sites) for column in columns]
    total = np.asarray(np.sum(words, axis=0, dtype=np.uint64))
    return decode(total, (len(columns[0]),), bound, sites).tolist()


@given(
    bound=finite.filter(lambda b: b > 0),
    sites=st.integers(1, 1000),
)
def test_scale_is_the_largest_power_of_two_that_fits(bound: float, sites: int) -> None:
    exponent = scale_exponent(bound, sites)
    largest = sites * Fraction(bound)
    assert largest * Fraction(2) ** exponent <= 2**62
    assert exponent == 1023 or largest * Fraction(2) ** (exponent + 1) > 2**62


@given(st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=20))
def test_integers_are_exact(values: list[int]) -> None:
    assert federated_sum([[float(v)] for v in values], bound=2.0**40) == [float(sum(values))]


@given(
    bound=st.floats(1e-200, 1e200),
    fractions=st.lists(st.floats(-1, 1), min_size=2, max_size=20),
)
def test_bounded_sum_keeps_the_documented_precision(bound: float, fractions: list[float]) -> None:
    values = [fraction * bound for fraction in fractions]
    [total] = federated_sum([[v] for v in values], bound)
    sites = len(values)
    per_site = Fraction(1, 2) / Fraction(2) ** scale_exponent(bound, sites)
    error = abs(Fraction(total) - sum(map(Fraction, values)))
    assert error <= sites * per_site + Fraction(float(np.spacing(sites * bound)))


@given(
    st.lists(
        st.floats(-WIDE_LIMIT, WIDE_LIMIT).filter(lambda v: v == 0 or abs(v) >= 2.0**-88),
        min_size=2,
        max_size=20,
    )
)
def test_wide_sum_is_the_correctly_rounded_exact_sum(values: list[float]) -> None:
    assert federated_sum([[v] for v in values], None) == [fsum(values)]


@given(st.lists(st.floats(-(2.0**-80), 2.0**-80), min_size=2, max_size=20))
def test_tiny_wide_values_are_off_by_half_a_unit_each_at_most(values: list[float]) -> None:
    [total] = federated_sum([[v] for v in values], None)
    error = abs(Fraction(total) - sum(map(Fraction, values)))
    assert error <= len(values) * Fraction(2) ** (LOWEST_BIT - 1) + Fraction(float(np.spacing(abs(total))))


@settings(max_examples=30)
@given(shape=st.lists(st.integers(0, 4), max_size=3).map(tuple), wide=st.booleans())
def test_shapes_survive(shape: tuple[int, ...], wide: bool) -> None:
    bound = None if wide else 1.0
    values = np.asarray(np.random.default_rng(0).uniform(-1, 1, shape))
    words = encode(values, bound, 1)
    assert words.shape == (words_needed(values.size, bound),)
    result = decode(words, shape, bound, 1)
    assert result.shape == shape
    np.testing.assert_allclose(result, values, rtol=0, atol=2.0**-60)


@pytest.mark.parametrize("bound", [1.0, None])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_0_and_refuses_nothing(bound: float | None, bad: float) -> None:
    assert federated_sum([[0.5, bad], [0.25, 0.5]], bound) == [0.75, 0.5]


@pytest.mark.parametrize("bound", [1.0, 1e-3, 123.25, None])
@pytest.mark.parametrize("times", [1.5, 7.0, 2.0**40, 2.0**300])
def test_a_value_above_the_bound_goes_round_and_tells_of_no_site(bound: float | None, times: float) -> None:
    """A refusal named the site. A sum that fits is right, whatever the parts are."""
    above = times * (WIDE_LIMIT if bound is None else bound)
    for sites in ([above, -above, 0.0], [-above, 0.0, above]):
        assert federated_sum([[value] for value in sites], bound) == [0.0]


@pytest.mark.parametrize(("bound", "sites"), [(0.0, 3), (-1.0, 3), (np.nan, 3), (np.inf, 3), (1.0, 0)])
def test_a_senseless_bound_or_number_of_sites_is_an_error(bound: float, sites: int) -> None:
    with pytest.raises(SettingError):
        scale_exponent(bound, sites)


def test_sums_that_could_overflow_are_refused() -> None:
    encode(np.ones(2), None, WIDE_SITES)
    with pytest.raises(SettingError):
        encode(np.ones(2), None, WIDE_SITES + 1)


@pytest.mark.parametrize("bound", [1.0, None])
def test_the_largest_possible_sum_does_not_wrap(bound: float | None) -> None:
    limit = WIDE_LIMIT if bound is None else bound
    for sites in (3, 20, 1000):
        assert federated_sum([[limit, -limit]] * sites, bound) == [sites * limit, -sites * limit]


def test_a_sum_of_the_wrong_length_is_an_error() -> None:
    with pytest.raises(SumError, match="'grams'"):
        decode(np.zeros(5, np.uint64), (2, 3), 1.0, 3, name="grams")
    with pytest.raises(SumError):
        decode(np.zeros(5, np.uint64), (2, 3), None, 3)


def test_a_value_becomes_the_nearest_whole_number() -> None:
    assert encode(np.array([-0.75 * 2.0**-58, 3.0]), 4.0, 3).tolist() == [2**64 - 1, 3 * 2**58]
    assert encode(np.array([0.75 * 2.0**LOWEST_BIT]), None, 3).tolist() == [0, 0, 0, 0, 1]
