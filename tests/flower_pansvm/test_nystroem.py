"""The Nyström map against the kernel it approximates and against scikit-learn's."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem

from flower_pansvm.errors import TrainingError
from flower_pansvm.kernels import Kernel
from strategies.steps.feature_maps import fit_map
from strategies.steps.scoring import typical_norm

KERNELS = [Kernel("rbf", gamma=0.4), Kernel("linear")]


def normal(rows: int, features: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(rows, features))


def test_inner_products_are_those_of_scikit_learn() -> None:
    L, X = normal(15, 6), normal(40, 6, seed=1)
    ours = fit_map(Kernel("rbf", gamma=0.4), L)
    assert ours.rank == len(L)
    expected = Nystroem(kernel="rbf", gamma=0.4, n_components=len(L), random_state=0).fit(L).transform(X)
    assert ours.transform(X) @ ours.transform(X).T == pytest.approx(expected @ expected.T, rel=1e-6, abs=1e-6)


def test_eigenvalues_that_are_only_noise_are_dropped() -> None:
    L = normal(8, 3)
    kernel = Kernel("rbf", gamma=0.5)
    twice = fit_map(kernel, np.vstack([L, L, L[:2] + 1e-9]))
    assert twice.rank == len(L)
    assert np.abs(twice.normalization).max() < 1e4
    assert fit_map(Kernel("linear"), normal(10, 3)).rank == 3
    X = normal(30, 3, seed=1)
    once = fit_map(kernel, L)
    assert twice.transform(X) @ twice.transform(X).T == pytest.approx(
        once.transform(X) @ once.transform(X).T, abs=1e-6
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_coordinates_that_matter_most_come_first_and_the_norm_is_that_of_the_landmarks(
    kernel: Kernel,
) -> None:
    # The leading ones are those between which the cutting planes ask for the curvature.
    L = normal(20, 6)
    feature_map = fit_map(kernel, L)
    squares = np.square(feature_map.transform(L))
    assert (np.diff(squares.sum(axis=0)) < 0).all()
    expected = np.linalg.eigvalsh(kernel(L, L))[::-1][: feature_map.rank]
    assert squares.sum(axis=0) == pytest.approx(expected)
    assert typical_norm(feature_map) == pytest.approx(np.sqrt(squares.sum(axis=1).mean()))


@settings(deadline=None, max_examples=150)
@given(
    kernel=st.builds(Kernel, st.just("rbf"), gamma=st.floats(1e-6, 1e3)) | st.just(Kernel("linear")),
    shape=st.tuples(st.integers(1, 40), st.integers(1, 8)),
    seed=st.integers(0, 2**16),
    size=st.floats(1e-2, 30),
    offset=st.floats(-1e4, 1e4),
    repeated=st.booleans(),
)
def test_a_mapped_row_is_not_longer_than_the_kernel_says(
    kernel: Kernel, shape: tuple[int, int], seed: int, size: float, offset: float, repeated: bool
) -> None:
    # The bound of the secure sums rests on ||f(x)||^2 <= k(x, x); it leaves one per cent for rounding.
    landmarks, features = shape
    X = offset + size * normal(landmarks + 20, features, seed)
    L = np.vstack([X[:landmarks], X[: landmarks // 2] + 1e-7]) if repeated else X[:landmarks]
    squares = np.square(fit_map(kernel, L).transform(X)).sum(axis=1)
    bounds = np.array([kernel(x[None], x[None])[0, 0] for x in X])
    assert (squares <= bounds * (1 + 1e-3)).all()


# Whether a map is what it says


@pytest.mark.parametrize(
    "kernel",
    [Kernel("rbf", 0.5), Kernel("rbf", 1e-4), Kernel("linear")],
    ids=str,
)
@pytest.mark.parametrize(("rows", "features"), [(1, 2), (40, 3), (200, 2), (300, 30)])
def test_maps_that_were_fitted_are_normalized(kernel: Kernel, rows: int, features: int) -> None:
    """Also of landmarks that lie close together, where the smallest eigenvalues are next to noise."""
    landmarks = np.random.default_rng(rows).normal(size=(rows, features)) ** 3
    landmarks[rows // 2 :] = landmarks[: rows - rows // 2] + 1e-5
    assert fit_map(kernel, landmarks).is_normalized()


def test_the_coordinator_and_the_sites_have_the_very_same_map() -> None:
    """It travels in single precision, and what is told is what was fitted."""
    fitted = fit_map(Kernel("rbf", 0.01), normal(40, 3)).normalization
    assert (fitted.astype(np.float32) == fitted).all()


def test_a_map_of_tiny_rows_has_no_number_beyond_single_precision() -> None:
    assert fit_map(Kernel("linear"), 1e-30 * normal(9, 3)).is_normalized()
    with pytest.raises(TrainingError):
        fit_map(Kernel("linear"), 1e-40 * normal(9, 3))


@pytest.mark.parametrize("factor", [0.5, 2.0, 1e6, np.nan])
def test_maps_of_another_length_are_not(factor: float) -> None:
    fitted = fit_map(Kernel("rbf", 0.5), np.random.default_rng(0).normal(size=(20, 3)))
    assert not replace(fitted, normalization=factor * fitted.normalization).is_normalized()
    other = fit_map(Kernel("rbf", 5.0), fitted.landmarks)
    assert not replace(fitted, normalization=other.normalization).is_normalized()
