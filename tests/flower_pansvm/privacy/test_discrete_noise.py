"""The noise has exactly the distribution that the promise rests on."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, kstest, norm

from flower_pansvm.privacy import discrete_noise
from flower_pansvm.privacy.discrete_noise import (
    discrete_gaussian,
    discrete_laplace,
    random_bits,
    sigma_of,
)

Draw = Callable[..., NDArray[np.int64]]
SIZE = 200_000


def by_probability(draw: Draw, scale: int) -> NDArray[np.float64]:
    """Return numbers from -40 scales to 40 scales with their exact probabilities."""
    k = np.arange(-40 * scale, 40 * scale + 1)
    weight = np.exp(-(k**2) / (2 * scale**2)) if draw is discrete_gaussian else np.exp(-np.abs(k) / scale)
    return np.stack([k, weight / weight.sum()])


def chi_square(found: NDArray[np.int64], draw: Draw, scale: int) -> float:
    """Return the p-value of numbers against the exact probabilities, rare ones thrown together."""
    k, p = by_probability(draw, scale)
    places = np.clip(found, k[0], k[-1]).astype(np.int64) - int(k[0])
    counts, often = np.bincount(places, minlength=len(k)), p * len(found) >= 10
    rest = (counts[~often].sum(), p[~often].sum() * len(found))
    return float(chisquare([*counts[often], rest[0]], [*(p[often] * len(found)), rest[1]]).pvalue)


@pytest.mark.parametrize("draw", [discrete_gaussian, discrete_laplace])
@pytest.mark.parametrize(
    ("scale", "size"),
    [*((scale, SIZE) for scale in (1, 2, 7, 100)), pytest.param(20, 10**7, marks=pytest.mark.slow)],
)
def test_every_number_comes_as_often_as_it_should(draw: Draw, scale: int, size: int) -> None:
    assert chi_square(draw(scale, size, random_bits(bytes(32))), draw, scale) > 1e-4


def test_the_test_would_notice_a_slightly_wrong_distribution() -> None:
    wrong = np.rint(1.01 * discrete_gaussian(100, SIZE, random_bits(bytes(32))))
    assert chi_square(wrong, discrete_gaussian, 100) < 1e-4


@pytest.mark.parametrize("scale", [2**28, 2**40])
def test_wide_noise_is_gaussian(scale: int) -> None:
    found = discrete_gaussian(scale, SIZE, random_bits(b"1" * 32))
    assert kstest(found / scale, norm.cdf).pvalue > 1e-4
    # Every number is there, not only multiples of a power of two.
    assert abs(np.mean(found % 2) - 0.5) < 0.01


@pytest.mark.parametrize("draw", [discrete_gaussian, discrete_laplace])
def test_coins_of_doubles_and_of_a_hundred_digits_fall_alike(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All coins by hand, instead of one in 2^44: the exact gammas are those that the doubles round."""
    k, p = by_probability(draw, 30)
    monkeypatch.setattr(discrete_noise, "SURE", 2.0)
    found = draw(30, 3000, random_bits(b"2" * 32))
    cumulative = np.cumsum(p)
    steps = np.arange(-90, 91, 10)
    expected = np.interp(steps, k, cumulative)
    got = np.searchsorted(np.sort(found), steps, side="right") / len(found)
    assert np.abs(got - expected).max() < 0.04


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_as_many_as_asked_and_the_same_from_the_same_bits(size: int) -> None:
    first, again, other = (
        discrete_gaussian(50, size, random_bits(key)) for key in (bytes(32), bytes(32), b"3" * 32)
    )
    assert first.shape == (size,)
    assert first.dtype == np.int64
    assert np.array_equal(first, again)
    assert size < 1000 or not np.array_equal(first, other)


@pytest.mark.parametrize("scale", [0, -1, 2**45])
def test_scales_that_cannot_be_are_refused(scale: int) -> None:
    with pytest.raises(ValueError, match="scale"):
        discrete_laplace(scale, 1, random_bits(bytes(32)))


@pytest.mark.parametrize("sites", [1, 4])
def test_the_noise_of_all_sites_together_costs_what_was_asked(sites: int) -> None:
    sigma = sigma_of(math.sqrt(2), 0.003, sites, 2.0**28)
    total = sites * sigma**2
    assert 2 * 2.0**56 / (2 * total) == pytest.approx(0.003, rel=1e-6)
    assert 2 * 2.0**56 / (2 * total) <= 0.003
