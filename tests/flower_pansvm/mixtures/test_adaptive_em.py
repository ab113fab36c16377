"""Adaptive EM: never a lower likelihood, and the number of components that there are."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.mixture.adaptive_em import (
    FLOOR,
    Proposals,
    Rivals,
    adaptive_em,
    em,
    first_model,
    floor_of,
    objective,
)
from flower_pansvm.systems.mixture.mixture import Mixture


def clouds(seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    return np.vstack([generator.normal(mean, 1, (200, 2)) for mean in ((0, 0), (6, 0), (0, 6))])


def rough(X: Floats, components: int, diagonal: bool) -> Mixture:
    """Return a mixture whose means are rows, before any EM."""
    wide = np.full((components, 2), 4.0) if diagonal else np.tile(4.0 * np.eye(2), (components, 1, 1))
    means = X[np.random.default_rng(0).permutation(len(X))[:components]]
    return Mixture(np.full(components, 1 / components), means, wide)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("components", [1, 2, 3, 6])
def test_em_never_lowers_the_likelihood(
    components: int, diagonal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the floor under variances, which is no maximisation."""
    monkeypatch.setattr("flower_pansvm.systems.mixture.adaptive_em.FLOOR", 0.0)
    X, likelihoods = clouds(0), []
    for steps in range(2, 12):
        monkeypatch.setattr("flower_pansvm.systems.mixture.adaptive_em.MOST_STEPS", steps)
        likelihoods.append(em(rough(X, components, diagonal), X).log_density(X).sum())
    assert (np.diff(likelihoods) >= -1e-6).all()


@pytest.mark.parametrize("diagonal", [False, True])
def test_em_comes_to_where_scikit_learn_comes_to(diagonal: bool) -> None:
    X = clouds(1)
    means = np.array([[1.0, 1], [5, 1], [1, 5]])
    start = replace(rough(X, 3, diagonal), means=means)
    kind = {"covariance_type": "diag" if diagonal else "full", "means_init": means, "reg_covar": floor_of(X)}
    reference = GaussianMixture(3, **kind, tol=1e-6, max_iter=500, random_state=0).fit(X)
    found = em(start, X)
    assert found.log_density(X).mean() == pytest.approx(reference.score(X), abs=1e-3)
    np.testing.assert_allclose(found.means, reference.means_, atol=0.02)
    np.testing.assert_allclose(found.covariances, reference.covariances_, atol=0.05)


@pytest.mark.parametrize("components", [1, 3, 12])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.slow
def test_three_clouds_are_three_components_wherever_it_starts(components: int, seed: int) -> None:
    X = clouds(seed)
    start = first_model(X, False, seed, components)
    assert len(start.weights) == components
    found = adaptive_em(start, X, None, np.random.default_rng(seed))
    assert len(found.weights) == 3
    assert objective(found, X) >= objective(start, X)
    np.testing.assert_allclose(np.sort(found.means.sum(axis=1)), [0, 6, 6], atol=0.4)


def test_the_same_seed_gives_the_same_model() -> None:
    X = clouds(2)
    one, other = (adaptive_em(first_model(X, False, 0), X, None, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one.means, other.means)


def test_a_component_of_hardly_any_rows_is_dropped() -> None:
    X = np.vstack([clouds(0), [[40.0, 40.0], [40.1, 40.0]]])
    start = Mixture(np.full(2, 0.5), np.array([[1.0, 1.0], [40.0, 40.0]]), np.tile(np.eye(2), (2, 1, 1)))
    assert len(em(start, X).weights) == 1


def test_few_rows_have_a_diagonal_model_and_a_constant_column_some_variance() -> None:
    few = np.random.default_rng(0).normal(size=(8, 3))
    assert first_model(few, False, 0).diagonal
    assert not first_model(np.random.default_rng(0).normal(size=(40, 3)), False, 0).diagonal
    # A column that is constant in the class has a variance all the same.
    constant = np.column_stack([clouds(0)[:, 0], np.zeros(600)])
    found = first_model(constant, False, 0)
    assert np.linalg.eigvalsh(found.covariances).min() >= 0.99 * FLOOR * constant.var(axis=0).mean()


def test_a_class_beside_another_is_split_where_it_reaches_into_it() -> None:
    """The probability of a split grows where another class is near."""
    X = clouds(3)
    model = first_model(X, False, 0, 3)
    near = Mixture(np.ones(1), model.means[:1] + 0.5, np.eye(2)[None])
    normals = np.random.default_rng(0).normal(size=(1000, 2))
    alone = Proposals(model, X, None, normals).weights["split"]
    beside = Proposals(model, X, Rivals(near, 600.0), normals).weights["split"]
    assert beside[0] / alone[0] > max(beside[1] / alone[1], beside[2] / alone[2])


@pytest.mark.filterwarnings("ignore")
def test_a_mixture_that_is_nowhere_near_the_rows_is_left_as_it_is() -> None:
    """What a site shares may be anything; such rows have no likelihood that is a number."""
    far = Mixture(np.ones(1), np.full((1, 2), 1e200), np.ones((1, 2)))
    assert em(far, np.zeros((9, 2))) == far
