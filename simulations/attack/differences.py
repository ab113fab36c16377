"""Rows from differences of two cuts: where few rows are in one and not in the other, they can be solved for.

The difference of two summed slopes is D = sum g_i f(x_i) over the rows whose c differ, g_i their unknown factors. With
r coordinates and p columns, q rows follow from it as soon as q (p + 1) <= r + 1. Nobody tells the coordinator which
differences are small enough; it tries, and sees by what is left over.
"""

import time
from collections.abc import Iterator

import numpy as np
from scipy.optimize import least_squares

from flower_pansvm.arrays import Floats
from flower_pansvm.nystroem import NystromMap
from simulations.attack.spaces import slopes_of_map

CANDIDATES = 3000
"""Points around the landmarks among which rows are first looked for."""

TRIES = 4
"""Starts for each number of rows."""

SOLVED = 1e-5
"""A difference is solved if no larger share of it is left over."""


def solve_differences(feature_map: NystromMap, a: Floats, spread: float, seconds: float) -> Floats:
    """Return the rows that differences of two cuts have given, shape (rows, features).

    ``a`` are the subgradients of all cuts over one map of the rbf kernel, shape (cuts, rank), and ``spread`` is the
    standard deviation of rows about landmarks. The smallest differences come first.
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
    """Yield the differences of all pairs of subgradients that differ, those of least length first."""
    first, second = np.triu_indices(len(a), 1)
    lengths = np.array([np.linalg.norm(a[i] - a[j]) for i, j in zip(first, second, strict=True)])
    for pair in np.argsort(lengths)[np.count_nonzero(lengths <= SOLVED) :]:
        yield a[first[pair]] - a[second[pair]]


def _solved(
    difference: Floats, feature_map: NystromMap, spread: float, generator: np.random.Generator
) -> Floats | None:
    """Return the rows that make up a difference, with as few rows as will do; None if none are found."""
    rank, p = len(difference), feature_map.landmarks.shape[1]
    enough = SOLVED * float(np.linalg.norm(difference))
    most = (rank + 1) // (p + 1)
    for count in sorted({1, 2, 3, 4, 6, 8, 10, most} & set(range(1, most + 1))):
        for _ in range(TRIES):
            X, g = _pursued(difference, count, feature_map, spread, generator)
            X, left = _polished(difference, X, g, feature_map)
            if left <= enough:
                return X
    return None


def _pursued(
    target: Floats, count: int, feature_map: NystromMap, spread: float, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return points whose maps, one picked after the other, explain most of a target, and their factors."""
    near = generator.integers(len(feature_map.landmarks), size=CANDIDATES)
    X = feature_map.landmarks[near]
    X = X + spread * generator.standard_normal(X.shape)
    F = feature_map.transform(X)
    directions = F / np.linalg.norm(F, axis=1, keepdims=True)
    chosen: list[int] = []
    left: Floats = target
    g: Floats = np.empty(0)
    for _ in range(count):
        # One of the best few, so that other tries begin elsewhere.
        best = np.argsort(-np.abs(directions @ left))[:3]
        chosen.append(int(generator.choice(best)))
        g = np.asarray(np.linalg.lstsq(F[chosen].T, target, rcond=None)[0], dtype=np.float64)
        left = target - g @ F[chosen]
    return X[chosen], g


def _polished(target: Floats, X: Floats, g: Floats, feature_map: NystromMap) -> tuple[Floats, float]:
    """Return the points moved to where they explain a target best, and the length of what is left over."""
    count, p = X.shape

    def left(values: Floats) -> Floats:
        over: Floats = values[:count] @ feature_map.transform(values[count:].reshape(count, p)) - target
        return over

    def slopes(values: Floats) -> Floats:
        points, factors = values[count:].reshape(count, p), values[:count]
        by_cell = slopes_of_map(feature_map, points) * factors[:, None, None]
        return np.vstack([feature_map.transform(points), by_cell.reshape(count * p, -1)]).T

    found = least_squares(left, np.append(g, X.ravel()), slopes, method="trf", max_nfev=60)
    return found.x[count:].reshape(count, p), float(np.linalg.norm(found.fun))
