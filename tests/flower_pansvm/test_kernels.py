"""Kernels against their formulas and against the ones inside scikit-learn's SVC."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from flower_pansvm.errors import SettingError
from flower_pansvm.kernels import Kernel
from strategies.steps.feature_maps import scale_gamma


@pytest.mark.parametrize("kernel", [Kernel("rbf", gamma=0.3), Kernel("linear")], ids=str)
def test_it_is_the_kernel_inside_scikit_learns_svc(kernel: Kernel) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:120]
    theirs = SVC(kernel=kernel.name, gamma=kernel.gamma, tol=1e-9)
    ours = SVC(kernel="precomputed", tol=1e-9).fit(kernel(X[:80], X[:80]), y[:80])
    expected = theirs.fit(X[:80], y[:80]).decision_function(X)
    assert ours.decision_function(kernel(X, X[:80])) == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf])
def test_a_gamma_outside_its_range_is_named(gamma: float) -> None:
    with pytest.raises(SettingError, match="gamma"):
        Kernel("rbf", gamma)


def test_a_kernel_that_is_none_is_named() -> None:
    with pytest.raises(SettingError, match="sigmoid"):
        Kernel("sigmoid")


def test_gamma_scale_is_that_of_scikit_learn() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    for cells in (StandardScaler().fit_transform(X), X, X[:, :1] / 7, np.ones_like(X)):
        expected = SVC(gamma="scale").fit(cells, y)._gamma
        assert scale_gamma(cells.shape[1], cells.var()) == pytest.approx(expected)


def test_far_from_the_origin_the_rbf_kernel_loses_nothing() -> None:
    # Identifiers and time stamps look like this when the run says scaling=none.
    X = np.random.default_rng(0).normal(size=(30, 4))
    far = X + 2.0**30
    near = far - 2.0**30
    assert Kernel("rbf", gamma=0.25)(far, far[:9]) == pytest.approx(Kernel("rbf", gamma=0.25)(near, near[:9]))
