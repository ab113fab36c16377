"""Guessed rows that matter little are replaced by others, where the curvatures are least explained."""

import math
from dataclasses import replace

import numpy as np

from simulations.attack.equations import Equations
from simulations.attack.guess import Guess
from simulations.attack.knowledge import Floats

REPLACED, KEPT = 0.08, 0.2
"""Share of the rows that are replaced at a time, and of the rows, those that matter most, that are not."""

CANDIDATES, BEST, CLIMBS = 1500, 40, 25
"""A row is replaced by the best of so many candidates, of which the best few are first moved uphill so many times."""


def replaced(equations: Equations, guess: Guess, generator: np.random.Generator) -> Guess:
    """Replace some of the rows that matter less to the curvatures by ones where these are least explained.

    Those that matter least alone would always be the same ones, and the others stay where they are wrong.
    """
    X, v, y, cluster = guess.X.copy(), guess.v.copy(), guess.y.copy(), guess.cluster.copy()
    importance = np.square(v).sum(axis=1) * np.square(
        np.square(equations.white_g(equations.mapped(X))).sum(axis=1)
    )
    lesser = np.argsort(importance)[: math.ceil((1.0 - KEPT) * len(X))]
    chosen = generator.choice(lesser, min(len(lesser), max(2, int(REPLACED * len(X)))), replace=False)
    v[chosen] = 0.0
    left = equations.residuals(replace(guess, v=v)).curvature
    for row in chosen:
        near = generator.integers(len(equations.landmarks), size=CANDIDATES)
        candidates = equations.landmarks[near]
        candidates = candidates + equations.spread * generator.standard_normal(candidates.shape)
        best = np.argsort(-_explained(equations, candidates, left)[0])[:BEST]
        climbed = _climbed(equations, candidates[best], left)
        shares, gains, sizes = _explained(equations, climbed, left)
        one = int(np.argmax(shares))
        X[row], v[row], cluster[row] = climbed[one], 0.7 * gains[one] / sizes[one] ** 2, near[best[one]]
        g = equations.white_g(equations.mapped(X[row : row + 1]))[0]
        left = left - v[row][:, None, None] * np.outer(g, g)
    return replace(guess, X=X, v=v, y=y, cluster=cluster)


def _climbed(equations: Equations, X: Floats, left: Floats) -> Floats:
    """Return points moved to where one row more explains most of what is left, in ever shorter steps."""
    best, most = X.copy(), _explained(equations, X, left)[0]
    for step in range(CLIMBS):
        way = _uphill(equations, X, left)
        length = np.sqrt(np.square(way).mean(axis=1, keepdims=True))
        X = X + 0.1 * equations.spread * (1.0 - step / CLIMBS) * way / np.maximum(length, 1e-300)
        found = _explained(equations, X, left)[0]
        better = found > most
        best[better], most[better] = X[better], found[better]
    return best


def _explained(equations: Equations, X: Floats, left: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how much of what is left of the curvatures one more row explains.

    Returns
    -------
    tuple of ndarray of shape (rows,), (rows, curvatures) and (rows,)
        The square of it, the products g^T R_k g, none below 0, and g^T g.
    """
    G = equations.white_g(equations.mapped(X))
    size = np.square(G).sum(axis=1)
    gain = np.stack([np.einsum("ij,ij->i", G @ R, G) for R in left], axis=1).clip(0.0)
    return np.square(gain).sum(axis=1) / np.square(size), gain, size


def _uphill(equations: Equations, X: Floats, left: Floats) -> Floats:
    """Return the derivatives of what `_explained` returns first by each cell, over itself; shape as X."""
    G, D = equations.white_rows(X)
    share, gain, size = _explained(equations, X, left)
    by_g = sum(4.0 * gain[:, k, None] * (G @ R) for k, R in enumerate(left)) / np.square(size)[:, None]
    by_g = by_g - 4.0 * (share / size)[:, None] * G
    found: Floats = np.einsum("iar,ir->ia", D, by_g) / np.maximum(share, 1e-300)[:, None]
    return found
