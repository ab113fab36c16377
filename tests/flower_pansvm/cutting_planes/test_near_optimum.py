"""A site's first guess: linear SVMs over its own rows, nearly trained."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.svm import SVC

from flower_pansvm.systems.pan_svm.near_optimum import near_optima

Matrix = NDArray[np.float64]


def objective(point: Matrix, F: Matrix, y: Matrix, costs: Matrix) -> float:
    """Return ||w||^2 / 2 + sum of costs times the hinge."""
    hinge = np.maximum(0.0, 1.0 - y * (F @ point[:-1] + point[-1]))
    return float(0.5 * point[:-1] @ point[:-1] + costs @ hinge)


def optimum(F: Matrix, y: Matrix, weight: Matrix, C: float) -> float:
    svc = SVC(kernel="linear", C=C, tol=1e-6).fit(F, y, sample_weight=weight)
    return objective(np.append(svc.coef_[0], svc.intercept_[0]), F, y, C * weight)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_first_guesses_are_nearly_the_svms_of_the_sites_rows(seed: int) -> None:
    generator = np.random.default_rng(seed)
    F = generator.normal(size=(300, 8)) / 3
    # Three classes' problems, each with three C: they have nothing in common but the rows.
    noisy = F[:, :3] + 0.3 * generator.normal(size=(300, 3))
    y = np.repeat(np.where(noisy.T > 0.2, 1.0, -1.0), 3, axis=0)
    weight = np.where(y > 0, 2.0, 0.5)
    C = np.tile([0.01, 1.0, 100.0], 3)
    for one in zip(near_optima(F, y, weight, C), y, weight, C, strict=True):
        point, own_y, own_weight, own_C = one
        best = optimum(F, own_y, own_weight, own_C)
        found = objective(point, F, own_y, own_C * own_weight)
        assert best * (1 - 1e-6) <= found <= 1.05 * best
        assert found < 0.6 * objective(np.zeros(9), F, own_y, own_C * own_weight) or own_C < 1


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_a_problem_gets_the_same_guess_alone_and_beside_others(seed: int, problems: int) -> None:
    generator = np.random.default_rng(seed)
    F, C = generator.normal(size=(80, 6)), 10.0 ** generator.uniform(-2, 1, size=problems)
    y = np.where(F[:, 0] + generator.normal(size=(problems, 80)) > 0, 1.0, -1.0)
    weight = generator.uniform(0.5, 2.0, size=(problems, 80))
    together = near_optima(F, y, weight, C)
    for i in range(problems):
        alone = near_optima(F, y[i : i + 1], weight[i : i + 1], C[i : i + 1])[0]
        ours, its = (objective(point, F, y[i], C[i] * weight[i]) for point in (together[i], alone))
        # Sums of single precision in another order take another way, to about the same height.
        assert ours == pytest.approx(its, rel=0.05)


def test_rows_on_one_point_and_costs_far_apart_are_no_trouble() -> None:
    F, y = np.ones((4, 3)), np.array([[1.0, 1.0, -1.0, 1.0]])
    (point,) = near_optima(F, y, np.array([[1e-8, 1.0, 1e8, 0.0]]), np.array([1e3]))
    assert np.isfinite(point).all()
    assert F[0] @ point[:-1] + point[-1] < -0.8
