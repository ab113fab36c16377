"""Sparsified SVD: the paper's rules by hand, and what they do to a table whatever is in it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from flower_pansvm.systems.ssvd import EPSILON, distort, sparsified, values_kept

Floats = NDArray[np.float64]

tables = arrays(
    np.float64, st.tuples(st.integers(2, 12), st.integers(1, 6)), elements=st.integers(-20, 20).map(float)
)


def test_a_table_by_hand() -> None:
    """Singular values 5.5319 and 1.8435: the limit (9) is 2.2126, so one stays; of u_1 the middle entry goes."""
    found = distort(np.array([[3.0, 1.0], [0.0, 2.0], [4.0, 2.0]]))
    assert found == pytest.approx(np.array([[2.7866, 1.4190], [0.0, 0.0], [3.9851, 2.0293]]), abs=1e-4)


@pytest.mark.parametrize(
    ("sigma", "kept"),
    [
        ([5.0, 2.0, 1.5, 0.5], 3),  # (8)
        ([5.0, 1.0], 1),  # one that is 1 is not above it
        ([0.9, 0.1], 0),
        ([0.0, 0.0], 0),
        ([5.5319, 1.8435], 1),  # (9)
        ([9.0, 8.0, 7.0], 3),
        ([1.5], 1),
    ],
)
def test_singular_values_are_kept_above_1_or_above_the_limit_if_all_are(
    sigma: list[float], kept: int
) -> None:
    assert values_kept(np.array(sigma)) == kept


def test_thresholds_are_of_absolute_values_and_grow_with_the_column_from_0() -> None:
    M = np.array([[1.0, -1.0], [-0.7, 0.7], [0.1, -0.1]])
    mean = 1.8 / 3
    assert EPSILON * mean * np.exp(1 / 2**2) < 0.7 < EPSILON * mean * np.exp(1.0)
    assert sparsified(M, 2).tolist() == [[1.0, -1.0], [-0.7, 0.7], [0.0, 0.0]]
    # The second column's threshold is exp(1) times as high with one value kept, and the first column's is not.
    assert sparsified(M, 1).tolist() == [[1.0, -1.0], [-0.7, 0.0], [0.0, 0.0]]


@given(tables, st.randoms(use_true_random=False))
def test_permuting_the_rows_permutes_the_distorted_rows(A: Floats, random: object) -> None:
    generator = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    sigma = np.linalg.svd(A, compute_uv=False)
    apart = np.diff(sigma[sigma > 1e-9]) if len(sigma) > 1 else np.array([-1.0])
    if (np.abs(apart) < 1e-6).any() or (np.abs(sigma - 1) < 1e-9).any():
        return  # of equal singular values the vectors are not determined
    U, _, Vt = np.linalg.svd(A, full_matrices=False)
    for M in (U, Vt.T):
        thresholds = (
            EPSILON * np.abs(M).mean(axis=0) * np.exp(np.arange(M.shape[1]) / max(1, values_kept(sigma)) ** 2)
        )
        if (np.abs(np.abs(M) - thresholds)[:, sigma > 1] < 1e-9).any():
            return  # nor is what becomes of an entry at its threshold
    order = generator.permutation(len(A))
    assert np.allclose(distort(A[order]), distort(A)[order], atol=1e-7)


@given(tables)
def test_a_column_of_zeros_stays_one_and_the_rank_does_not_grow(A: Floats) -> None:
    A[:, 0] = 0.0
    found = distort(A)
    assert np.abs(found[:, 0]).max() < 1e-9
    kept = values_kept(np.linalg.svd(A, compute_uv=False))
    assert np.linalg.matrix_rank(found, tol=1e-6) <= kept


def test_of_a_table_of_small_cells_nothing_is_left() -> None:
    assert not distort(np.full((4, 2), 0.1)).any()
