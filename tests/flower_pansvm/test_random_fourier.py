"""The random Fourier map: rows of length 1, the kernel's values, and nothing longer whatever the map."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flower_pansvm.random_fourier import RandomFourierMap
from strategies.steps.frequencies import drawn, generator_of

ANY = st.floats(width=64, allow_nan=True, allow_infinity=True)


def map_of(frequencies: np.ndarray, intercept: float = 0.0) -> RandomFourierMap:
    columns = frequencies.shape[1]
    return RandomFourierMap(np.zeros(columns), np.full(columns, 10.0), frequencies, intercept)


def test_rows_have_length_one_and_the_kernels_products() -> None:
    sigma = 0.8
    X = np.random.default_rng(0).uniform(0, 10, size=(20, 4))
    mapped = map_of(drawn(20_000, 4, sigma, generator_of(0))).transform(X)
    assert np.linalg.norm(mapped, axis=1) == pytest.approx(np.ones(20))
    inside = X / 10
    kernel = np.exp(-np.square(inside[:, None] - inside[None]).sum(axis=2) / sigma**2)
    assert np.abs(mapped @ mapped.T - kernel).max() < 0.04
    # With a variance of 1 / sigma² it is another kernel.
    wrong = map_of(drawn(20_000, 4, sigma * np.sqrt(2), generator_of(0))).transform(X)
    assert np.abs(wrong @ wrong.T - kernel).max() > 0.15


def test_cosines_and_sines_of_equation_7() -> None:
    mapped = map_of(np.array([[1.0], [2.0]])).transform(np.array([[5.0]]))
    expected = np.array([np.cos(0.5), np.sin(0.5), np.cos(1.0), np.sin(1.0)]) / np.sqrt(2)
    assert mapped[0] == pytest.approx(expected)


@pytest.mark.parametrize("intercept", [0.5, 1.0, 3.0])
def test_an_intercept_is_within_the_length(intercept: float) -> None:
    feature_map = map_of(drawn(5, 2, 1.0, generator_of(0)), intercept)
    mapped = feature_map.transform(np.random.default_rng(0).uniform(0, 10, size=(7, 2)))
    assert mapped.shape == (7, feature_map.size)
    assert np.linalg.norm(mapped, axis=1) == pytest.approx(np.ones(7))
    assert mapped[:, -1] == pytest.approx(np.full(7, intercept / np.sqrt(1 + intercept**2)))


def test_cells_beyond_the_ends_and_missing_ones() -> None:
    feature_map = map_of(np.array([[1.0]]))
    inside = feature_map.inside(np.array([[-5.0], [0.0], [10.0], [99.0], [np.nan]]))
    assert inside[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0, 0.5]


@given(
    low=arrays(np.float64, 2, elements=ANY),
    high=arrays(np.float64, 2, elements=ANY),
    frequencies=arrays(np.float64, (3, 2), elements=ANY),
    intercept=ANY,
    X=arrays(np.float64, (4, 2), elements=ANY),
)
def test_no_map_makes_a_row_longer(
    low: np.ndarray, high: np.ndarray, frequencies: np.ndarray, intercept: float, X: np.ndarray
) -> None:
    """The sensitivity rests on it, and the map is the coordinator's."""
    mapped = RandomFourierMap(low, high, frequencies, intercept).transform(X)
    assert (np.linalg.norm(mapped, axis=1) <= 1 + 1e-12).all()
