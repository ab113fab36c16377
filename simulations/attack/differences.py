"""Differencing attack: the few rows in which two cuts differ are solved for.

The difference of two summed subgradients is D = sum g_i f(x_i) over the rows whose c differ, g_i their unknown factors.
With r coordinates and p columns it determines q rows if q (p + 1) <= r + 1. The coordinator does not know which
differences are small enough; the residual shows it.
"""

import time
from collections.abc import Iterator

import numpy as np
from scipy.optimize import least_squares

from flower_pansvm.arrays import Floats
from flower_pansvm.nystroem import NystromMap
from simulations.attack.spaces import slopes_of_map

CANDIDATES = 3000
"""Points around the landmarks, the first candidates for rows."""

TRIES = 4
"""Starts for each number of rows."""

SOLVED = 1e-5
"""A difference is solved if at most this share of it remains."""


def solve_differences(feature_map: NystromMap, a: Floats, spread: float, seconds: float) -> Floats:
    """Return the rows that solve differences of two cuts, the smallest first, shape (rows, features).

    ``a`` are the subgradients of all cuts over one map of the rbf kernel, shape (cuts, rank), and ``spread`` is the
    standard deviation of rows about landmarks.
    """
    rows = [np.empty((0, feature_map.landmarks.shape[1]))]
    begun = time.thread_time()
    generator = np.random.default_rng(0)
    for difference in _smallest_first(a):
        if time.thread_time() - begun > seconds:
            break
        solution = _solved(difference, feature_map, spread, generator)
        if solution is not None:
            rows.append(solution)
    return np.vstack(rows)


def _smallest_first(a: Floats) -> Iterator[Floats]:
    """Yield the differences of all pairs of unequal subgradients, the shortest first."""
    first, second = np.triu_indices(len(a), 1)
    lengths = np.array([np.linalg.norm(a[i] - a[j]) for i, j in zip(first, second, strict=True)])
    for pair in np.argsort(lengths)[np.count_nonzero(lengths <= SOLVED) :]:
        yield a[first[pair]] - a[second[pair]]


def _solved(
    difference: Floats, feature_map: NystromMap, spread: float, generator: np.random.Generator
) -> Floats | None:
    """Return the fewest rows that solve a difference; None without a solution."""
    rank, p = len(difference), feature_map.landmarks.shape[1]
    enough = SOLVED * float(np.linalg.norm(difference))
    most = (rank + 1) // (p + 1)
    for count in sorted({1, 2, 3, 4, 6, 8, 10, most} & set(range(1, most + 1))):
        for _ in range(TRIES):
            X, g = _pursued(difference, count, feature_map, spread, generator)
            X, residual = _polished(difference, X, g, feature_map)
            if residual <= enough:
                return X
    return None


def _pursued(
    target: Floats, count: int, feature_map: NystromMap, spread: float, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return points whose maps explain most of a target, by matching pursuit, and their factors."""
    near = generator.integers(len(feature_map.landmarks), size=CANDIDATES)
    X = feature_map.landmarks[near]
    X = X + spread * generator.standard_normal(X.shape)
    F = feature_map.transform(X)
    directions = F / np.linalg.norm(F, axis=1, keepdims=True)
    chosen: list[int] = []
    residual: Floats = target
    g: Floats = np.empty(0)
    for _ in range(count):
        # One of the best few, so that other tries start elsewhere.
        best = np.argsort(-np.abs(directions @ residual))[:3]
        chosen.append(int(generator.choice(best)))
        g = np.asarray(np.linalg.lstsq(F[chosen].T, target, rcond=None)[0], dtype=np.float64)
        residual = target - g @ F[chosen]
    return X[chosen], g


def _polished(target: Floats, X: Floats, g: Floats, feature_map: NystromMap) -> tuple[Floats, float]:
    """Return the points moved to where they explain a target best, and the length of the residual."""
    count, p = X.shape

    def residual(values: Floats) -> Floats:
        explained: Floats = values[:count] @ feature_map.transform(values[count:].reshape(count, p))
        return explained - target

    def slopes(values: Floats) -> Floats:
        points, factors = values[count:].reshape(count, p), values[:count]
        by_cell = slopes_of_map(feature_map, points) * factors[:, None, None]
        return np.vstack([feature_map.transform(points), by_cell.reshape(count * p, -1)]).T

    solution = least_squares(residual, np.append(g, X.ravel()), slopes, method="trf", max_nfev=60)
    return solution.x[count:].reshape(count, p), float(np.linalg.norm(solution.fun))
