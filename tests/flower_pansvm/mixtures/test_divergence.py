"""Jensen-Shannon divergences: known values, bounds, and rows against a component."""

import numpy as np
import pytest

from flower_pansvm.systems.mixture.mixture import LARGEST, Mixture, divergence, local_divergence

NORMALS = np.random.default_rng(0).normal(size=(4000, 2))


def gaussian(mean: float, variance: float = 1.0) -> Mixture:
    return Mixture(np.ones(1), np.array([[mean, 0.0]]), variance * np.eye(2)[None])


@pytest.mark.parametrize(("apart", "error"), [(0, 1e-12), (1, 0.005)])
def test_it_is_that_of_a_numerical_integration_and_none_of_equal_mixtures(apart: float, error: float) -> None:
    x = np.linspace(-9, 10, 20_001)
    p, q = (np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi) for mean in (0, apart))
    middle = (p + q) / 2
    exact = np.trapezoid(p * np.log(p / middle) + q * np.log(q / middle), x) / 2
    assert divergence(gaussian(0), gaussian(apart), NORMALS) == pytest.approx(exact, abs=error)


def test_far_apart_it_is_that_of_the_shares() -> None:
    assert divergence(gaussian(0), gaussian(50), NORMALS) == pytest.approx(LARGEST)
    uneven = divergence(gaussian(0), gaussian(50), NORMALS, share=0.1)
    assert uneven == pytest.approx(-(0.1 * np.log(0.1) + 0.9 * np.log(0.9)))


@pytest.mark.parametrize(
    ("features", "losses"), [(2, (0.001, 0.018, 0.053, 0.120)), (8, (0.004, 0.078, 0.188, 0.358))]
)
def test_the_loss_by_perturbation_grows_with_its_strength(features: int, losses: tuple[float, ...]) -> None:
    """Equation 30 for one standard Gaussian, beside values of another implementation."""
    standard = Mixture(np.ones(1), np.zeros((1, features)), np.ones((1, features)))
    normals = np.random.default_rng(1).normal(size=(20_000, features))
    found = [divergence(standard, standard.perturbed(d), normals) for d in (0.1, 0.5, 1.0, 2.0)]
    np.testing.assert_allclose(found, losses, atol=0.006)


def test_rows_of_the_component_are_near_it_and_others_are_not() -> None:
    rows = np.random.default_rng(2).normal(size=(500, 2))
    alike = np.ones(500)
    near, wide, away = (
        local_divergence(alike, model.log_density(rows))
        for model in (gaussian(0, 50.0), gaussian(0), gaussian(30))
    )
    assert near < wide < away <= LARGEST
