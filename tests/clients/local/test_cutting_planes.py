"""A site's warm start: a linear SVM over its own rows, nearly solved."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.svm import SVC

from clients.local.cutting_planes import near_optimum


def objective(
    point: NDArray[np.float64], F: NDArray[np.float64], y: NDArray[np.float64], costs: NDArray[np.float64]
) -> float:
    """Return ||w||^2 / 2 + sum of costs times the hinge."""
    hinge = np.maximum(0.0, 1.0 - y * (F @ point[:-1] + point[-1]))
    return float(0.5 * point[:-1] @ point[:-1] + costs @ hinge)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_warm_start_is_nearly_the_svm_of_the_sites_rows(C: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    F = generator.normal(size=(300, 8)) / 3
    y = np.where(F[:, 0] + 0.3 * generator.normal(size=300) > 0.2, 1.0, -1.0)
    weight = np.where(y > 0, 2.0, 0.5)
    svc = SVC(kernel="linear", C=C, tol=1e-6).fit(F, y, sample_weight=weight)
    optimum = objective(np.append(svc.coef_[0], svc.intercept_[0]), F, y, C * weight)
    found = objective(near_optimum(F, y, weight, C), F, y, C * weight)
    assert optimum * (1 - 1e-6) <= found <= 1.05 * optimum
    assert found < 0.5 * objective(np.zeros(9), F, y, C * weight) or C < 1


def test_rows_on_one_point_and_costs_far_apart_are_no_trouble() -> None:
    F, y = np.ones((4, 3)), np.array([1.0, 1.0, -1.0, 1.0])
    point = near_optimum(F, y, np.array([1e-8, 1.0, 1e8, 0.0]), 1e3)
    assert np.isfinite(point).all()
    assert F[0] @ point[:-1] + point[-1] < -0.8
