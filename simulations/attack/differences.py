"""Rows from differences of two cuts: where few rows are in one and not in the other, they can be solved for.

The difference of two summed slopes is D = sum g_i f(x_i) over the rows whose c differ, g_i their unknown factors. With
r coordinates and p columns, q rows follow from it as soon as q (p + 1) <= r + 1. Nobody tells the coordinator which
differences are small enough; it tries, and sees by what is left over.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import least_squares

from simulations.attack.equations import Equations
from simulations.attack.knowledge import Floats, Knowledge

CANDIDATES = 3000
"""Points around the landmarks among which rows are first looked for."""

TRIES = 4
"""Starts for each number of rows."""

SOLVED = 1e-5
"""A difference is solved if no larger share of it is left over."""


def solve_differences(
    knowledge: Knowledge, equations: Equations, seconds: float, report: Callable[[float, Floats], None]
) -> Floats:
    """Return the rows that differences of two cuts have given, shape (rows, features).

    Parameters
    ----------
    knowledge : Knowledge
        What the coordinator has.
    equations : Equations
        The same, as equations.
    seconds : float
        Time to take; the smallest differences come first.
    report : callable
        Called with the time and the rows so far whenever a difference has been solved.
    """
    rows = [np.empty((0, knowledge.landmarks.shape[1]))]
    begun = time.monotonic()
    generator = np.random.default_rng(0)
    for difference in _smallest_first(equations.a, knowledge):
        if time.monotonic() - begun > seconds:
            break
        solution = _solved(difference, knowledge, equations, generator)
        if solution is not None:
            rows.append(solution)
            report(time.monotonic() - begun, np.vstack(rows))
    return np.vstack(rows)


def _smallest_first(a: Floats, knowledge: Knowledge) -> Iterator[Floats]:
    """Yield the differences of all pairs of slopes, those of least length first; d tells of them what it can."""
    first, second = np.triu_indices(len(a), 1)
    lengths = np.array([np.linalg.norm(a[i] - a[j]) for i, j in zip(first, second, strict=True)])
    points = np.vstack([one.question.points for one in knowledge.asked])
    same = np.array([np.array_equal(points[i], points[j]) for i, j in zip(first, second, strict=True)])
    for pair in np.argsort(np.where(same, np.inf, lengths)):
        yield a[first[pair]] - a[second[pair]]


def _solved(
    difference: Floats, knowledge: Knowledge, equations: Equations, generator: np.random.Generator
) -> Floats | None:
    """Return the rows that make up a difference, with as few rows as will do; None if none are found."""
    rank, p = len(difference), knowledge.landmarks.shape[1]
    enough = SOLVED * float(np.linalg.norm(difference))
    most = (rank + 1) // (p + 1)
    for count in sorted({1, 2, 3, 4, 6, 8, 10, most} & set(range(1, most + 1))):
        for _ in range(TRIES):
            X, g = _pursued(difference, count, equations, generator)
            X, left = _polished(difference, X, g, equations)
            if left <= enough:
                return X
    return None


def _pursued(
    target: Floats, count: int, equations: Equations, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return points whose maps, one picked after the other, explain most of a target, and their factors."""
    near = generator.integers(len(equations.landmarks), size=CANDIDATES)
    X = equations.landmarks[near]
    X = X + equations.spread * generator.standard_normal(X.shape)
    F = equations.mapped(X)
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


def _polished(target: Floats, X: Floats, g: Floats, equations: Equations) -> tuple[Floats, float]:
    """Return the points moved to where they explain a target best, and the length of what is left over."""
    count, p = X.shape

    def left(values: Floats) -> Floats:
        over: Floats = values[:count] @ equations.mapped(values[count:].reshape(count, p)) - target
        return over

    def slopes(values: Floats) -> Floats:
        points, factors = values[count:].reshape(count, p), values[:count]
        by_cell = equations.derivatives(points) * factors[:, None, None]
        return np.vstack([equations.mapped(points), by_cell.reshape(count * p, -1)]).T

    found = least_squares(left, np.append(g, X.ravel()), slopes, method="trf", max_nfev=60)
    return found.x[count:].reshape(count, p), float(np.linalg.norm(found.fun))
