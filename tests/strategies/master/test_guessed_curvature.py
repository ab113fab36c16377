"""The curvature that synthetic rows stand in for: its size, what it is made of, and that it bends nowhere down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.master.guessed_curvature import EVERYWHERE, FEW_ROWS, MOST_ALONE, ZONE, guessed_curvature
from strategies.master.proximal import WIDER_TRUST, TrustedCurvature

SINGLE = 1e-5
"""Relative error of sums in single precision."""


def test_one_row_on_the_margin_counts_fully_and_one_far_away_hardly() -> None:
    """Decision values 1, -1 and 0 + 10: by hand."""
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [10.0, 2.0]], dtype=np.float32)
    near, far = 1.0 / ZONE + EVERYWHERE, EVERYWHERE
    found = guessed_curvature(rows, np.array([1.0, 0.0, 0.0]), 30.0, leading=2)
    expected = 10.0 * np.array([2 * near + 100 * far, 4 * far, 2 * near + far])
    assert np.diag(found) == pytest.approx(expected, rel=SINGLE)
    assert found[0, 1] == pytest.approx((1.0 - MOST_ALONE) * 10.0 * 20 * far, rel=SINGLE)
    assert found[0, 2] == pytest.approx((1.0 - MOST_ALONE) * 10.0 * 10 * far, rel=SINGLE)


@pytest.mark.parametrize(
    ("rows", "alone"), [(10.0, 1.0), (2 * FEW_ROWS, 1.0), (20 * FEW_ROWS, 0.1), (1e9, 0.0)]
)
def test_the_more_rows_there_are_the_more_coordinates_hang_together(rows: float, alone: float) -> None:
    synthetic = np.random.default_rng(0).normal(size=(8, 2)).astype(np.float32)
    found = guessed_curvature(synthetic, np.zeros(3), rows, leading=2)
    F = np.hstack([synthetic, np.ones((8, 1))])
    rough = rows / 8 * EVERYWHERE * F.T @ F  # at the origin no row is near the margin but to within 1
    near = np.diag(found)[0] / np.diag(rough)[0]
    expected = near * rough * (1.0 - MOST_ALONE * alone)
    np.fill_diagonal(expected, near * np.diag(rough))
    assert found == pytest.approx(expected, rel=1e-4)


@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 20),
    rank=st.integers(1, 6),
    rows=st.floats(1.0, 1e6),
    log_size=st.floats(-3, 3),
)
def test_it_bends_nowhere_down_and_grows_with_the_rows(
    seed: int, count: int, rank: int, rows: float, log_size: float
) -> None:
    rng = np.random.default_rng(seed)
    synthetic = (10.0**log_size * rng.normal(size=(count, rank))).astype(np.float32)
    point = rng.normal(size=rank + 1)
    found = guessed_curvature(synthetic, point, rows, rank)
    assert (found == found.T).all()
    sizes = np.sqrt(np.diag(found))
    assert np.linalg.eigvalsh(found / np.outer(sizes, sizes)).min() > -10 * SINGLE
    twice = guessed_curvature(synthetic, point, 2.0 * rows, rank)
    less, more = (1.0 - MOST_ALONE * min(1.0, FEW_ROWS * rank / count) for count in (rows, 2.0 * rows))
    expected = 2.0 * found * (more / less)
    np.fill_diagonal(expected, 2.0 * np.diag(found))
    assert twice / np.outer(sizes, sizes) == pytest.approx(expected / np.outer(sizes, sizes), abs=10 * SINGLE)


def test_coordinates_whose_squares_single_precision_cannot_hold_will_do() -> None:
    """As of a polynomial kernel of a high degree."""
    rng = np.random.default_rng(0)
    synthetic, point = (1e25 * rng.normal(size=(8, 4))).astype(np.float32), rng.normal(size=5)
    F = np.hstack([synthetic.astype(np.float64), np.ones((8, 1))])
    expected = 10.0 * EVERYWHERE / 8 * F.T @ F
    expected *= 1.0 - MOST_ALONE * (1.0 - np.eye(5))
    found = guessed_curvature(synthetic, point, 10.0, leading=4)
    assert found[:4, :4] == pytest.approx(expected[:4, :4], rel=SINGLE, abs=SINGLE * expected.max())
    assert len(TrustedCurvature(found, 1.0, WIDER_TRUST).roots) == len(WIDER_TRUST)


@pytest.mark.parametrize("leading", [0, 1, 3])
def test_of_coordinates_that_are_not_leading_only_the_diagonal_is_there(leading: int) -> None:
    rng = np.random.default_rng(0)
    synthetic, point = rng.normal(size=(8, 4)).astype(np.float32), rng.normal(size=5)
    whole, part = (guessed_curvature(synthetic, point, 8.0, size) for size in (4, leading))
    inner = [*range(leading), 4]
    assert np.diag(part) == pytest.approx(np.diag(whole), rel=SINGLE)
    assert part[np.ix_(inner, inner)] == pytest.approx(whole[np.ix_(inner, inner)], rel=SINGLE)
    part[np.ix_(inner, inner)] = 0.0
    assert np.count_nonzero(part) == 4 - leading
