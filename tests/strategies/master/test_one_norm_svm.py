"""The 1-norm SVM: against its dual, and what is tried when the solver gives up."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult, linprog

from flower_pansvm.errors import TrainingError
from strategies.random_kernel.training import one_norm_svm


def objective(K: np.ndarray, d: np.ndarray, nu: float, u: np.ndarray, gamma: float) -> float:
    return float(nu * np.maximum(0.0, 1.0 - d * (K @ u - gamma)).sum() + np.abs(u).sum())


@given(st.integers(0, 10**6), st.sampled_from([1e-4, 0.01, 1.0, 1000.0]))
def test_primal_and_dual_have_the_same_value(seed: int, nu: float) -> None:
    """The dual: maximise 1'v subject to -1 <= K'Dv <= 1, d'v = 0 and 0 <= v <= nu."""
    generator = np.random.default_rng(seed)
    K, d = generator.random((20, 3)), np.where(np.arange(20) % 3 == 0, 1.0, -1.0)
    KD = (d[:, None] * K).T
    dual = linprog(
        -np.ones(20), np.vstack([KD, -KD]), np.ones(6), d[None], [0.0], bounds=(0.0, nu), method="highs"
    )
    assert objective(K, d, nu, *one_norm_svm(K, d, nu)) == pytest.approx(-dual.fun, rel=1e-6)


@pytest.mark.parametrize("failing", [1, 2])
def test_where_the_simplex_method_gives_up_interior_points_are_tried(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def gives_up(*args: Any, method: str, **more: Any) -> Any:
        tried.append(method)
        if len(tried) <= failing:
            return OptimizeResult(x=None, message="Solve error")
        return linprog(*args, method=method, **more)

    monkeypatch.setattr("strategies.random_kernel.training.linprog", gives_up)
    if failing == 1:
        u, gamma = one_norm_svm(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), 10.0)
        assert (u, gamma) == (pytest.approx([1.0], abs=1e-6), pytest.approx(0.0, abs=1e-6))
    else:
        with pytest.raises(TrainingError):
            one_norm_svm(np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), 10.0)
    assert tried == ["highs", "highs-ipm"]


def test_what_is_no_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="nan"):
        one_norm_svm(np.array([[np.nan], [1.0]]), np.array([1.0, -1.0]), 1.0)
