"""Output perturbation: how far a row moves exact weights, how much noise that takes, and faults that are found."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, kstest, laplace

from clients.systems.admm import solve
from flower_pansvm.privacy.discrete_noise import random_bits
from flower_pansvm.privacy.output_perturbation import SCALE, Perturbation, perturbed

KEY = bytes(range(32))
TOL = 1e-9


def exact(z: np.ndarray, y: np.ndarray, cost: float) -> np.ndarray:
    """Return the weights of least 1/2 ||w||^2 + cost sum_i max(0, 1 - y_i w.z_i)."""
    rows = y[:, None] * z
    weights: np.ndarray = solve(rows, np.full(len(rows), cost), np.ones(len(rows)), TOL) @ rows
    return weights


def unit_rows(count: int, D: int, seed: int) -> np.ndarray:
    angles = np.random.default_rng(seed).normal(size=(count, D)) * 2
    return np.hstack([np.cos(angles), np.sin(angles)]) / math.sqrt(D)


# How far a row moves the weights


def furthest(C: float, cost: float, n: int = 150, D: int = 10) -> float:
    """Return the largest 1-norm that replacing a row moves the weights by, in shares of the bound for exact weights."""
    z = unit_rows(n, D, 0)
    y = np.where(z @ np.random.default_rng(1).normal(size=2 * D) > 0, 1.0, -1.0)
    before, found = exact(z, y, cost), 0.0
    against = -before / np.linalg.norm(before)
    for row in range(12):
        # Another random row, the same row with the other label, and one as far on the wrong side as can be.
        for new, label in ((unit_rows(1, D, 100 + row)[0], y[row]), (z[row], -y[row]), (against, 1.0)):
            other, labels = z.copy(), y.copy()
            other[row], labels[row] = new, label
            found = max(found, float(np.abs(exact(other, labels, cost) - before).sum()))
    return found / (2**1.5 * C * math.sqrt(D) / n)


@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
def test_a_row_moves_exact_weights_no_further_than_the_proof_says(C: float) -> None:
    assert 0.1 < furthest(C, C / 150) <= 1 + 1e-6


@pytest.mark.parametrize("C", [1.0, 10.0])
def test_equation_3_as_printed_moves_the_weights_further_than_the_noise_allows(C: float) -> None:
    """Equation (3) of Li et al. has C where the noise needs C / n."""
    assert furthest(C, C) > 2


def test_the_bound_is_reached() -> None:
    z = np.full((1, 2), math.sqrt(0.5))
    moved = np.abs(exact(z, np.array([1.0]), 1.0) - exact(z, np.array([-1.0]), 1.0)).sum()
    assert moved == pytest.approx(2**1.5)
    # The published noise has a factor of two to spare, for weights that are not exact.
    assert Perturbation(2, 1.0, 1.0, 1e-12).sensitivity(1) == pytest.approx(2 * 2**1.5)


# How much noise


def test_the_scale_is_the_published_one() -> None:
    found = Perturbation(size=2 * 25, C=1000.0, epsilon=0.5, tol=1e-9).scale(27_000)
    assert found == pytest.approx(2**2.5 * 1000 * 5 / (27_000 * 0.5), rel=1e-9)


def test_weights_that_are_not_exact_have_larger_noise() -> None:
    """With the tolerance at which the gap is C² / (2 n²) the factor to spare is used up."""
    C, n, D = 1000.0, 27_000, 25
    tol = C / (2 * n**2)
    assert Perturbation(2 * D, C, 1.0, tol).sensitivity(n) == pytest.approx(2**2.5 * C * math.sqrt(D) / n)
    coarse = Perturbation(2 * D, C, 1.0, 1e-3)
    expected = 2**1.5 * C * math.sqrt(D) / n + 4 * math.sqrt(D * 1e-3 * C)
    assert coarse.sensitivity(n) == pytest.approx(expected)
    assert coarse.sensitivity(n) > 15 * coarse.published(n)


@given(gap=st.floats(1e-8, 1.0), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_weights_with_a_gap_are_not_further_off_than_is_paid_for(gap: float, seed: int) -> None:
    z = unit_rows(30, 3, seed)
    y = np.where(np.arange(30) % 2 == 0, 1.0, -1.0)
    best = exact(z, y, 10 / 30)

    def objective(w: np.ndarray) -> float:
        return float(0.5 * w @ w + 10 / 30 * np.maximum(0, 1 - y * (z @ w)).sum())

    direction = np.random.default_rng(seed).normal(size=len(best))
    off = best + gap * direction / np.linalg.norm(direction)
    assert np.linalg.norm(off - best) <= math.sqrt(2 * (objective(off) - objective(best)) + 1e-7)


def test_noise_is_laplace() -> None:
    noise = perturbed(np.zeros(100_000), 0.75, random_bits(KEY))
    assert kstest(noise, laplace(scale=0.75).cdf).pvalue > 1e-3
    assert kstest(noise, laplace(scale=0.72).cdf).pvalue < 1e-6


def test_what_is_released_is_on_the_grid_and_right_however_large() -> None:
    weights = np.array([0.1, -3.7, 1e9, 0.0])
    unit = 0.75 / SCALE
    found = perturbed(weights, 0.75, random_bits(KEY))
    assert np.abs(found - weights) == pytest.approx(np.zeros(4), abs=0.75 * 30)
    small = found[[0, 1, 3]] / unit
    assert np.array_equal(small, np.rint(small))
    assert np.array_equal(found, perturbed(weights, 0.75, random_bits(KEY)))


@given(
    shift=st.lists(st.floats(-1, 1), min_size=1, max_size=12),
    epsilon=st.floats(0.05, 8.0),
    order=st.floats(1.01, 300.0),
)
@settings(max_examples=200, deadline=None)
def test_the_cost_in_the_ledger_is_at_least_the_renyi_divergence(
    shift: list[float], epsilon: float, order: float
) -> None:
    """Of Laplace noise, known in closed form (Mironov 2017, Proposition 6), for the furthest that weights may move."""
    size, largest = len(shift), max(map(abs, shift))
    # Squares of the tiniest numbers would be 0.
    moved = np.abs(shift) / (largest or 1.0)
    # In scales: sensitivity is sqrt(size) times the 2-norm.
    t = moved / (np.linalg.norm(moved) or 1.0) * epsilon / math.sqrt(size)
    a = order
    logs = np.logaddexp(math.log(a / (2 * a - 1)) + (a - 1) * t, math.log((a - 1) / (2 * a - 1)) - a * t) / (
        a - 1
    )
    assert logs.sum() <= a * Perturbation(size, 1.0, epsilon, 1e-9).rho * (1 + 1e-9) + 1e-12


# An audit of releases on the worst neighbours

TIMES = 6000
Release = Callable[[np.ndarray, Perturbation], np.ndarray]


def releases(weights: np.ndarray, noise: Perturbation, share: float = 1.0) -> np.ndarray:
    """Return many releases of the same weights, shape (TIMES, size), with a share of the noise."""
    scale, bits = share * noise.scale(1), random_bits(np.random.default_rng(0).bytes(32))
    return perturbed(np.tile(weights, TIMES), scale, bits).reshape(TIMES, -1)


def least_epsilon(release: Release, epsilon: float, intercept: bool = False) -> float:
    """Return a lower bound of epsilon from releases on two tables of one row (Clopper and Pearson, 95 % each).

    The row's label is the other one in the second, so that its weights are as far apart as they can be: D = 1, C = 1.
    The best test is the ratio of likelihoods, which is bounded by the distance in 1-norm.
    """
    z = np.full(3 if intercept else 2, 1.0)
    z /= np.linalg.norm(z)
    noise = Perturbation(len(z), 1.0, epsilon, 1e-12)
    first, second = release(z, noise), release(-z, noise)
    ratio = [np.abs(seen + z).sum(axis=1) - np.abs(seen - z).sum(axis=1) for seen in (first, second)]
    seen, lower = [first, second], 0.0
    tests = [(ratio[0] >= at, ratio[1] >= at) for at in np.quantile(ratio[0], [0.1, 0.3, 0.5, 0.7, 0.9])]
    # Each number alone, too: bins where the one table's weight is exactly.
    tests += [tuple(np.abs(one[:, j] - z[j]) < 1e-6 for one in seen) for j in range(len(z))]  # type: ignore[misc]
    for yes, no in tests:
        found, wrong = int(yes.sum()), int(no.sum())
        least = beta.ppf(0.025, found, TIMES - found + 1) if found else 0.0
        most = beta.ppf(0.975, wrong + 1, TIMES - wrong)
        lower = max(lower, math.log(max(least, 1e-9) / most))
    return lower


def bare_intercept(weights: np.ndarray, noise: Perturbation) -> np.ndarray:
    return np.column_stack([releases(weights, noise)[:, :-1], np.full(TIMES, weights[-1])])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_releases_keep_the_promise_and_too_little_noise_is_found(epsilon: float) -> None:
    for intercept in (False, True):
        # Half of it is to spare, and the audit sees most of the rest.
        assert 0.2 * epsilon < least_epsilon(releases, epsilon, intercept) <= 0.5 * epsilon + 0.1
    assert least_epsilon(partial(releases, share=0.25), epsilon) > epsilon
    assert least_epsilon(bare_intercept, epsilon, intercept=True) > epsilon


@pytest.mark.parametrize(("size", "epsilon"), [(0, 1.0), (-3, 1.0), (1, 1e200), (1, float("nan"))])
def test_a_cost_of_nonsense_is_a_number(size: int, epsilon: float) -> None:
    """A hospital looks at it first, and refuses what is none that its budget can pay."""
    assert isinstance(Perturbation(size, 1.0, epsilon, 1e-7).rho, float)
