"""A mixture of Gaussians: densities as scipy has them, and operations that keep its moments."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.mixture.mixture import Mixture, union


def some(seed: int, components: int = 3, features: int = 2, diagonal: bool = False) -> Mixture:
    generator = np.random.default_rng(seed)
    roots = generator.normal(size=(components, features, features))
    covariances = roots @ np.transpose(roots, (0, 2, 1)) + 0.1 * np.eye(features)
    if diagonal:
        covariances = np.diagonal(covariances, axis1=1, axis2=2).copy()
    return Mixture(
        generator.dirichlet(np.ones(components)), generator.normal(0, 3, (components, features)), covariances
    )


def moments(mixture: Mixture) -> tuple[Floats, Floats]:
    """Return mean and second moments of the whole mixture; of these the diagonal where covariances are diagonal."""
    full = mixture.full()
    second = full.covariances + full.means[:, :, None] * full.means[:, None, :]
    whole = np.tensordot(full.weights, second, 1)
    return mixture.weights @ mixture.means, np.diagonal(whole) if mixture.diagonal else whole


mixtures = st.builds(
    some, st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 4), diagonal=st.booleans()
)


@hypothesis.settings(max_examples=30)
@hypothesis.given(mixtures)
def test_the_density_is_scipys(mixture: Mixture) -> None:
    X = np.random.default_rng(0).normal(0, 3, (7, mixture.means.shape[1]))
    full = mixture.full()
    parts = [
        np.log(weight) + multivariate_normal(mean, covariance).logpdf(X)
        for weight, mean, covariance in zip(full.weights, full.means, full.covariances, strict=True)
    ]
    np.testing.assert_allclose(mixture.log_density(X), np.logaddexp.reduce(parts, axis=0), rtol=1e-8)
    np.testing.assert_allclose(mixture.log_components(X), np.transpose(parts), rtol=1e-8)


@hypothesis.settings(max_examples=30)
@hypothesis.given(mixtures, st.floats(0, 0.99))
def test_merging_and_splitting_keep_mean_and_second_moments(mixture: Mixture, share: float) -> None:
    full = mixture.full()
    width, axis = (part[..., -1] for part in np.linalg.eigh(full.covariances[0]))
    step = np.zeros(len(axis)) if mixture.diagonal else share * np.sqrt(width) * axis
    if mixture.diagonal:
        step[0] = share * np.sqrt(mixture.covariances[0, 0])
    for changed, components in ((mixture.merged(0, 1), -1), (mixture.split(0, step), 1)):
        assert len(changed.weights) == len(mixture.weights) + components
        assert changed.weights.sum() == pytest.approx(1)
        for found, expected in zip(moments(changed), moments(mixture), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert (np.linalg.eigvalsh(changed.full().covariances) > 0).all()


def test_eliminating_makes_the_others_weigh_more_alike_and_the_largest_come_first() -> None:
    mixture = some(0, 4)
    left = mixture.only(np.array([0, 3]))
    assert left.weights == pytest.approx(mixture.weights[[0, 3]] / mixture.weights[[0, 3]].sum())
    np.testing.assert_array_equal(left.means, mixture.means[[0, 3]])
    assert (np.diff(mixture.largest_first().weights) <= 0).all()


@hypothesis.settings(max_examples=30)
@hypothesis.given(mixtures, st.integers(0, 100), st.floats(1, 100), st.floats(1, 100))
def test_a_union_is_the_mean_of_its_models_by_rows(one: Mixture, seed: int, rows: float, more: float) -> None:
    other = some(seed, 2, one.means.shape[1])
    both = union([one, other], [rows, more])
    assert both.weights.sum() == pytest.approx(1)
    X = np.random.default_rng(1).normal(0, 2, (5, one.means.shape[1]))
    expected = (rows * np.exp(one.log_density(X)) + more * np.exp(other.log_density(X))) / (rows + more)
    np.testing.assert_allclose(np.exp(both.log_density(X)), expected, rtol=1e-8)


@hypothesis.settings(max_examples=30)
@hypothesis.given(mixtures, st.floats(0, 5))
def test_a_perturbed_model_has_the_same_means_and_is_wider(mixture: Mixture, strength: float) -> None:
    wider = mixture.perturbed(strength)
    np.testing.assert_array_equal(wider.means, mixture.means)
    np.testing.assert_array_equal(wider.weights, mixture.weights)
    np.testing.assert_allclose(wider.covariances, (1 + strength) * mixture.covariances)


@pytest.mark.parametrize("diagonal", [False, True])
def test_draws_have_the_moments_of_the_mixture_and_points_those_of_each_component(diagonal: bool) -> None:
    mixture, generator = some(3, 3, 2, diagonal), np.random.default_rng(0)
    Z = mixture.sample(200_000, generator)
    mean, second = moments(mixture)
    np.testing.assert_allclose(Z.mean(axis=0), mean, atol=0.05)
    found = Z.T @ Z / len(Z)
    np.testing.assert_allclose(np.diagonal(found) if diagonal else found, second, rtol=0.03, atol=0.1)
    points = mixture.points(generator.normal(size=(100_000, 2)))
    for own, centre, covariance in zip(points, mixture.means, mixture.full().covariances, strict=True):
        np.testing.assert_allclose(own.mean(axis=0), centre, atol=0.03)
        np.testing.assert_allclose(np.cov(own.T), covariance, rtol=0.05, atol=0.05)
