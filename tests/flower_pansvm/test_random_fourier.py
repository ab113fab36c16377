"""The random Fourier map: rows of length 1, the kernel's values, and nothing longer whatever the map."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flower_pansvm.privacy.exact import STEP, in_turns
from flower_pansvm.random_fourier import RandomFourierMap
from strategies.output_perturbation.frequencies import drawn, generator_of

ANY = st.floats(width=64, allow_nan=True, allow_infinity=True)


def map_of(frequencies: np.ndarray) -> RandomFourierMap:
    columns = frequencies.shape[1]
    return RandomFourierMap(np.zeros(columns), np.full(columns, 10.0), in_turns(frequencies))


def test_rows_have_length_one_and_the_kernels_products() -> None:
    sigma = 0.8
    X = np.random.default_rng(0).uniform(0, 10, size=(20, 4))
    mapped = map_of(drawn(2000, 4, sigma, generator_of(0))).transform(X)
    assert (np.linalg.norm(mapped, axis=1) <= 1).all()
    assert np.linalg.norm(mapped, axis=1) == pytest.approx(np.ones(20), abs=4000 * STEP / np.sqrt(2000))
    inside = X / 10
    kernel = np.exp(-np.square(inside[:, None] - inside[None]).sum(axis=2) / sigma**2)
    assert np.abs(mapped @ mapped.T - kernel).max() < 0.1
    # With a variance of 1 / sigma² it is another kernel.
    wrong = map_of(drawn(2000, 4, sigma * np.sqrt(2), generator_of(0))).transform(X)
    assert np.abs(wrong @ wrong.T - kernel).max() > 0.15


def test_cosines_and_sines_of_equation_7() -> None:
    mapped = map_of(np.array([[1.0], [2.0]])).transform(np.array([[5.0]]))
    expected = np.array([np.cos(0.5), np.sin(0.5), np.cos(1.0), np.sin(1.0)]) / np.sqrt(2)
    assert mapped[0] == pytest.approx(expected, abs=2e-3)


def test_cells_beyond_the_ends_and_missing_ones() -> None:
    feature_map = map_of(np.array([[1.0]]))
    inside = feature_map.inside(np.array([[-5.0], [0.0], [10.0], [99.0], [np.nan]]))
    assert inside[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0, 0.5]


@given(
    low=arrays(np.float64, 2, elements=ANY),
    high=arrays(np.float64, 2, elements=ANY),
    frequencies=arrays(np.float64, (3, 2), elements=ANY),
)
def test_what_is_not_within_bounds_does_not_fit(
    low: np.ndarray, high: np.ndarray, frequencies: np.ndarray
) -> None:
    found = RandomFourierMap(low, high, frequencies)
    ends = np.isfinite([low, high]).all() and (low < high).all()
    small = np.isfinite(frequencies).all() and bool((np.abs(frequencies) <= 64).all())
    whole = small and all(float(f * 2**18).is_integer() for f in frequencies.ravel())
    assert found.fits(2) == (ends and whole)


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 40),
    scale=st.sampled_from([1e-3, 1.0, 400.0]),
    X=arrays(np.float64, (4, 2), elements=ANY),
)
def test_no_map_makes_a_row_longer(seed: int, count: int, scale: float, X: np.ndarray) -> None:
    """The sensitivity rests on it, and the map is the coordinator's."""
    generator = np.random.default_rng(seed)
    low = generator.normal(size=2) * scale
    found = RandomFourierMap(low, low + 1, in_turns(generator.normal(size=(count, 2)) * scale))
    assert found.fits(2)
    for row in found.transform(X):
        assert sum(Fraction(float(number)) ** 2 for number in row) <= 1
