"""The cost of a promise of differential privacy, and the sum of costs.

Costs are in zero-concentrated differential privacy (zCDP, Bun and Steinke 2016): that of an answer with Gaussian noise
of deviation sigma is rho = sensitivity² / (2 sigma²), and the costs of several answers add up, also of adaptive
questions. Neighbours are tables of which one has one row more.
"""

import math
from collections.abc import Iterable

LARGEST_EPSILON = 20.0
"""Above it a promise is worth nothing: the odds of a statement on a patient may change 500 million times, e^20."""

LARGEST_DELTA = 1e-3
"""Above it a promise may say nothing of one patient in a thousand; less than one in the number of rows is usual."""


def epsilon_of(rho: float, delta: float) -> float:
    """Return the epsilon for which rho-zCDP, rho >= 0, is (epsilon, delta)-differential privacy, 0 < delta < 1.

    Canonne, Kamath, Steinke 2020, Proposition 12 solved for epsilon, with the best order alpha.

    ``rho`` is a cost, not below 0; ``delta`` above 0 and below 1.

    Examples
    --------
    >>> round(epsilon_of(0.03056, 1e-5), 3)
    1.0
    """
    if rho == 0:
        return 0.0
    # The slope in alpha is 0 where rho (alpha - 1)² + log(alpha) = -log(delta), whose left side only grows. Every alpha
    # gives a true epsilon. SciPy's minimizer would take long to import.
    low, high = 0.0, math.sqrt(-math.log(delta) / rho)
    while high - low > 1e-10 * high:
        order = (low + high) / 2
        below = rho * order**2 + math.log1p(order) < -math.log(delta)
        low, high = (order, high) if below else (low, order)
    alpha = 1 + high
    epsilon = alpha * rho + math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / high
    return max(0.0, epsilon)


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest cost that still is (epsilon, delta)-differential privacy, rounded down.

    Examples
    --------
    >>> round(rho_of(1.0, 1e-5), 5)
    0.03056
    """
    low, high = 0.0, epsilon
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low


def admits(spent: Iterable[float], rho: float, budget: float) -> bool:
    """Return whether one more answer fits the budget: a filter (Feldman and Zrnic 2021; Whitehouse et al. 2023).

    Examples
    --------
    >>> admits([0.01, 0.01], 0.01, budget=0.03056), admits([0.01, 0.01], 0.011, budget=0.03056)
    (True, False)
    """
    return 0 < rho < math.inf and math.fsum([*spent, rho]) <= budget
