"""The accountant against a second one, against exact privacy profiles, and against itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from flower_pansvm.privacy.accountant import admits, epsilon_of, rho_of

BY_DP_ACCOUNTING = [
    (0.0085055, 1e-5, 0.49999905),
    (0.0305566, 1e-5, 1.00000011),
    (0.1222264, 1e-5, 2.13895378),
    (0.3, 1e-5, 3.53438659),
    (1.0, 1e-6, 7.76621681),
    (5.39, 1e-5, 19.99509940),
]
"""rho, delta, and the epsilon that dp-accounting 0.6.0 says: RdpAccountant of a ZCDpEvent, 20,000 orders."""

deltas = st.floats(1e-12, 1e-2)
rhos = st.floats(1e-6, 20)


@pytest.mark.parametrize(("rho", "delta", "epsilon"), BY_DP_ACCOUNTING)
def test_a_second_accountant_says_the_same(rho: float, delta: float, epsilon: float) -> None:
    assert epsilon_of(rho, delta) == pytest.approx(epsilon, rel=1e-3)


@given(rhos, deltas)
def test_no_order_of_a_fine_grid_is_better(rho: float, delta: float) -> None:
    """Delta of Canonne, Kamath, Steinke 2020, Proposition 12, and not solved for epsilon."""
    alpha = 1 + np.exp(np.linspace(-8, 14, 4000))
    epsilon = epsilon_of(rho, delta)
    logs = (alpha - 1) * (alpha * rho - epsilon) - np.log(alpha - 1) + alpha * np.log1p(-1 / alpha)
    assert logs.min() == pytest.approx(math.log(delta), abs=0.01) or epsilon == 0


@given(rhos, deltas)
def test_never_below_what_gaussian_noise_really_costs(rho: float, delta: float) -> None:
    """The exact profile of the Gaussian mechanism: Balle and Wang 2018, Theorem 8."""
    mu = math.sqrt(2 * rho)

    def exact(epsilon: float) -> float:
        tail = norm.logcdf(-mu / 2 - epsilon / mu)
        return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(min(epsilon + tail, 0.0)))

    least = brentq(lambda epsilon: exact(epsilon) - delta, 0, 500) if exact(0.0) > delta else 0.0
    assert least <= epsilon_of(rho, delta) <= 1.35 * least + 0.02


@given(st.floats(0.01, 20), deltas)
def test_there_and_back(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho * (1 + 1e-6), delta) > epsilon


def test_the_figures_of_the_proof() -> None:
    """Of the page: rho(1, 1e-5); all other sites' noise subtracted, 4 rho; a patient with three rows, 9 rho."""
    rho = rho_of(1.0, 1e-5)
    assert rho == pytest.approx(0.03056, abs=1e-5)
    assert epsilon_of(4 * rho, 1e-5) == pytest.approx(2.14, abs=0.005)
    assert epsilon_of(9 * rho, 1e-5) == pytest.approx(3.36, abs=0.005)
    assert epsilon_of(0.0, 1e-5) == 0.0


@given(st.lists(st.floats(1e-6, 0.01), max_size=200))
def test_the_filter_never_lets_more_through_than_the_budget(costs: list[float]) -> None:
    spent: list[float] = []
    for cost in costs:
        if admits(spent, cost, 0.03):
            spent.append(cost)
        else:
            assert math.fsum([*spent, cost]) > 0.03
    assert math.fsum(spent) <= 0.03


@pytest.mark.parametrize("cost", [0.0, -0.01, math.inf, math.nan])
def test_costs_that_are_none_are_not_admitted(cost: float) -> None:
    assert not admits([], cost, 1.0)
