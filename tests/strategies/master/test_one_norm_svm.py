"""The 1-norm SVM: by hand, against its dual, and with a nu that is too small."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from flower_pansvm.errors import PanSVMError
from strategies.master.one_norm_svm import one_norm_svm


def objective(K: np.ndarray, d: np.ndarray, nu: float, u: np.ndarray, gamma: float) -> float:
    return float(nu * np.maximum(0.0, 1.0 - d * (K @ u - gamma)).sum() + np.abs(u).sum())


def test_two_rows_by_hand() -> None:
    u, gamma = one_norm_svm(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), 10.0)
    assert u == pytest.approx([1.0])
    assert gamma == pytest.approx(0.0)


@given(st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 1000.0]))
def test_primal_and_dual_have_the_same_value(seed: int, nu: float) -> None:
    """The dual: maximise 1'v subject to -1 <= K'Dv <= 1, d'v = 0 and 0 <= v <= nu."""
    generator = np.random.default_rng(seed)
    K, d = generator.random((20, 3)), np.where(np.arange(20) % 3 == 0, 1.0, -1.0)
    KD = (d[:, None] * K).T
    dual = linprog(
        -np.ones(20), np.vstack([KD, -KD]), np.ones(6), d[None], [0.0], bounds=(0.0, nu), method="highs"
    )
    assert objective(K, d, nu, *one_norm_svm(K, d, nu)) == pytest.approx(-dual.fun, rel=1e-6)


def test_a_small_nu_gives_no_weights() -> None:
    generator = np.random.default_rng(0)
    K, d = generator.random((30, 4)), np.where(generator.random(30) < 0.5, 1.0, -1.0)
    u, _ = one_norm_svm(K, d, 1e-4)
    assert not u.any()


def test_what_cannot_be_solved_says_so() -> None:
    with pytest.raises((PanSVMError, ValueError)):
        one_norm_svm(np.array([[np.nan], [1.0]]), np.array([1.0, -1.0]), 1.0)
