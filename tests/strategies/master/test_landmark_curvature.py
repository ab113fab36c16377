"""The curvature that landmarks stand in for: its size, what it is made of, and that of mapped rows it is the truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.master.landmark_curvature import ALONE, EVERYWHERE, ZONE, landmark_curvature


def test_one_landmark_on_the_margin_counts_fully_and_one_far_away_hardly() -> None:
    """Decision values 1, -1 and 0 + 10: by hand."""
    landmarks, point = np.array([[1.0, 0.0], [-1.0, 0.0], [10.0, 2.0]]), np.array([1.0, 0.0, 0.0])
    near, far = 1.0 / ZONE + EVERYWHERE, EVERYWHERE
    found = landmark_curvature(landmarks, point, 30.0, leading=2)
    assert np.diag(found) == pytest.approx(10.0 * np.array([2 * near + 100 * far, 4 * far, 2 * near + far]))
    assert found[0, 1] == pytest.approx((1.0 - ALONE) * 10.0 * 20 * far)
    assert found[0, 2] == pytest.approx((1.0 - ALONE) * 10.0 * 10 * far)


@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 20),
    rank=st.integers(1, 6),
    rows=st.floats(1.0, 1e6),
    log_size=st.floats(-3, 3),
)
def test_it_is_positive_definite_and_grows_with_the_rows(
    seed: int, count: int, rank: int, rows: float, log_size: float
) -> None:
    rng = np.random.default_rng(seed)
    landmarks, point = 10.0**log_size * rng.normal(size=(count, rank)), rng.normal(size=rank + 1)
    found = landmark_curvature(landmarks, point, rows, rank)
    assert (found == found.T).all()
    sizes = np.sqrt(np.diag(found))
    assert np.linalg.eigvalsh(found / np.outer(sizes, sizes)).min() > 0.5 * ALONE
    assert landmark_curvature(landmarks, point, 2.0 * rows, rank) == pytest.approx(2.0 * found)


@pytest.mark.parametrize("leading", [0, 1, 3])
def test_of_coordinates_that_are_not_leading_only_the_diagonal_is_there(leading: int) -> None:
    rng = np.random.default_rng(0)
    landmarks, point = rng.normal(size=(8, 4)), rng.normal(size=5)
    whole, part = (landmark_curvature(landmarks, point, 8.0, size) for size in (4, leading))
    inner = [*range(leading), 4]
    assert np.diag(part) == pytest.approx(np.diag(whole))
    assert part[np.ix_(inner, inner)] == pytest.approx(whole[np.ix_(inner, inner)])
    part[np.ix_(inner, inner)] = 0.0
    assert np.count_nonzero(part) == 4 - leading
