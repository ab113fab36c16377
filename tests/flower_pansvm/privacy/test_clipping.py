"""No row has a larger part than 1 in a sum, and the sum is exact."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flower_pansvm.fourier_map import BINS, FourierMap, bins, places
from flower_pansvm.privacy.clipping import STEP, clipped

anything = arrays(np.float64, (6, 4), elements=st.floats(allow_nan=True, allow_infinity=True))


@given(anything)
def test_rows_have_norm_at_most_one_exactly(rows: np.ndarray) -> None:
    for row in clipped(rows):
        assert sum(Fraction(float(number)) ** 2 for number in row) <= 1
        assert all((number / STEP).is_integer() for number in row)


@given(arrays(np.float64, (5, 3), elements=st.floats(-0.5, 0.5)))
def test_short_rows_stay_as_they_are_but_for_the_grid(rows: np.ndarray) -> None:
    assert np.abs(clipped(rows) - rows).max() <= STEP


def test_sums_of_products_are_exact_in_any_order() -> None:
    generator = np.random.default_rng(0)
    z = clipped(generator.normal(size=(3000, 20)))
    forward, backward = z.T @ z, z[::-1].T @ z[::-1]
    assert np.array_equal(forward, backward)
    assert forward[0, 1] == float(sum(Fraction(a) * Fraction(b) for a, b in z[:, :2]))


numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(
    arrays(np.float64, (4, 2), elements=numbers),
    arrays(np.float64, (4, 2), elements=numbers),
    arrays(np.float64, (2, 2, BINS), elements=numbers),
    arrays(np.float64, (3, 2), elements=numbers),
    numbers,
)
@pytest.mark.slow
def test_no_map_makes_a_row_longer(
    X: np.ndarray, vectors: np.ndarray, tables: np.ndarray, frequencies: np.ndarray, linear: float
) -> None:
    """Whatever the coordinator sends as a map, and whatever is in the row."""
    for row in FourierMap(*vectors[:2], *tables, *vectors[2:], frequencies, linear).transform(X):
        assert sum(Fraction(float(number)) ** 2 for number in row) <= 1


@given(arrays(np.float64, (5, 2), elements=numbers), arrays(np.float64, (2, 2), elements=numbers))
def test_every_cell_that_is_there_is_in_one_bin(X: np.ndarray, ends: np.ndarray) -> None:
    found, there = bins(places(X, *ends)), ~np.isnan(X)
    assert ((found[there] >= 0) & (found[there] < BINS)).all()


@pytest.mark.parametrize(
    ("cell", "expected"),
    [(-1, 0), (0, 0), (1e-9, 1), (0.5, 9), (0.51, 10), (1 - 1e-9, BINS - 2), (1, BINS - 1), (7, BINS - 1)],
)
def test_the_ends_have_bins_of_their_own(cell: float, expected: int) -> None:
    assert bins(places(np.array([[cell]]), np.array([0.0]), np.array([1.0]))).item() == expected
