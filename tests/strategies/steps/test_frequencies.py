"""Frequencies: fitted ones make a better kernel than drawn ones, by an objective whose gradient is right."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from strategies.output_perturbation.frequencies import (
    drawn,
    fitted,
    generator_of,
    kernel_error,
    median_distance,
)

X = np.random.default_rng(0).uniform(size=(20, 3))


def pairs(X: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(len(X), 1)
    differences = X[first] - X[second]
    return differences, np.exp(-np.square(differences).sum(axis=1) / sigma**2)


def test_the_gradient_is_that_of_the_objective() -> None:
    differences, kernel = pairs(X, 0.5)
    start = drawn(4, 3, 0.5, generator_of(1)).ravel()
    off = check_grad(
        lambda flat: kernel_error(flat, differences, kernel)[0],
        lambda flat: kernel_error(flat, differences, kernel)[1],
        start,
    )
    assert off < 1e-5 * np.linalg.norm(kernel_error(start, differences, kernel)[1])


def test_the_objective_is_the_kernels_squared_error() -> None:
    differences, kernel = pairs(X, 0.5)
    frequencies = drawn(4, 3, 0.5, generator_of(1))
    angles = X @ frequencies.T
    mapped = np.hstack([np.cos(angles), np.sin(angles)]) / 2
    off = (mapped @ mapped.T)[np.triu_indices(20, 1)] - kernel
    assert kernel_error(frequencies.ravel(), differences, kernel)[0] == pytest.approx(np.square(off).sum())


@pytest.mark.parametrize("count", [2, 5, 10])
def test_fitted_frequencies_make_a_better_kernel_of_other_rows_too(count: int) -> None:
    rows = np.random.default_rng(1).uniform(size=(200, 3))
    at_random, fit = (
        kernel_error(frequencies.ravel(), *pairs(rows, 0.7))[0]
        for frequencies in (drawn(count, 3, 0.7, generator_of(0)), fitted(X, count, 0.7, generator_of(0)))
    )
    assert fit < 0.7 * at_random


def test_of_many_rows_pairs_are_drawn() -> None:
    rows = np.random.default_rng(2).uniform(size=(400, 2))
    frequencies = fitted(rows, 3, 0.7, generator_of(0))
    assert frequencies.shape == (3, 2)
    drawn_error = kernel_error(drawn(3, 2, 0.7, generator_of(0)).ravel(), *pairs(rows, 0.7))[0]
    assert kernel_error(frequencies.ravel(), *pairs(rows, 0.7))[0] < drawn_error


def test_median_distance() -> None:
    assert median_distance(np.array([[0.0], [1.0], [3.0]])) == 2.0
    assert median_distance(np.zeros((5, 2))) == 1.0
