"""Fitting rows to exact Hessians: Levenberg and Marquardt, from several rows at each landmark.

Rows that do not come to rest are replaced by others, where the Hessians are least explained.
"""

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from flower_pansvm.arrays import Floats
from simulations.attack.equations import Equations, Guess
from simulations.attack.knowledge import Knowledge

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-9, 1e3
LARGEST_MOVE = 1.0
"""A cell moves by at most so many standard deviations in a step, root mean square over its row."""

STALLED, SLOW = 4, 0.05
"""After so many steps that each take less than this share off the cost, some rows are replaced."""

REPLACED, RESTLESS = 0.08, 0.6
"""Share of the rows that are replaced at a time, and of the rows, those that moved most, that they are drawn from."""

CANDIDATES, BEST, CLIMBS = 1500, 40, 25
"""A row is replaced by the best of so many candidates, of which the best few are first moved uphill so many times."""


def start_from_landmarks(knowledge: Knowledge, equations: Equations, seed: int) -> Guess:
    """Return several copies of each landmark, a little apart."""
    generator = np.random.default_rng(seed)
    cluster = np.arange(knowledge.rows) % len(knowledge.landmarks)
    X = knowledge.landmarks[cluster]
    X = X + 0.3 * equations.spread * generator.standard_normal(X.shape)
    return Guess(X, cluster, equations.factors(X))


def fit(equations: Equations, guess: Guess, seconds: float, seed: int = 0) -> Guess:
    """Return the guess that has missed least in so many seconds; the seed is of the candidates that replace rows."""
    replacement = Replacement(equations, np.random.default_rng(seed))
    begun, damping, slow = time.thread_time(), FIRST_DAMPING, 0
    found = equations.residuals(guess)
    best, least = guess, equations.misfit(found)
    while time.thread_time() - begun < seconds and damping < MOST_DAMPING:
        weights = equations.weights(found)
        before = equations.cost(guess, found, weights)
        try:
            moved = equations.step(guess, found, weights, damping)
            length = np.sqrt(np.square(moved).mean(axis=1))
            moved *= np.minimum(1.0, LARGEST_MOVE / np.maximum(length, 1e-12))[:, None]
            tried = replace(guess, X=guess.X + moved, v=equations.factors(guess.X + moved))
        except LinAlgError:
            damping *= 5.0
            continue
        then = equations.residuals(tried)
        after = equations.cost(tried, then, weights)
        if after < before:
            slow = slow + 1 if before - after < SLOW * before else 0
            guess, found, damping = tried, then, max(LEAST_DAMPING, damping / 3.0)
        else:
            slow, damping = slow + 1, damping * 4.0
        misfit = equations.misfit(found)
        if misfit < least:
            best, least = guess, misfit
        if slow >= STALLED:
            guess, slow, damping = replacement(guess), 0, min(max(damping, 1e-3), 1.0)
            guess = replace(guess, v=equations.factors(guess.X))
            found = equations.residuals(guess)
    return best


class Replacement:
    """Replaces some of the rows that are still on the move, time and again.

    A row that is right stays where it is while others are replaced; one that only makes up for what others miss moves
    with them. To replace the rows that matter least to the curvatures loses right ones that happen to matter little.
    """

    def __init__(self, equations: Equations, generator: np.random.Generator) -> None:
        self.equations, self.generator = equations, generator
        self.unrest = np.ones(equations.rows)
        self.before: Floats | None = None

    def __call__(self, guess: Guess) -> Guess:
        """Return the guess with some rows replaced by the candidates that explain most of what is left."""
        if self.before is not None:
            moved = np.sqrt(np.square(guess.X - self.before).mean(axis=1)) / self.equations.spread
            self.unrest = 0.5 * self.unrest + 0.5 * np.minimum(moved, 1.0)
        # Shuffled first: at the beginning all are alike.
        order = self.generator.permutation(len(guess.X))
        order = order[np.argsort(-self.unrest[order], kind="stable")]
        restless = order[: max(2, int(RESTLESS * len(order)))]
        count = min(len(restless), max(2, int(REPLACED * len(order))))
        chosen = self.generator.choice(restless, count, replace=False)
        guess = self._filled(guess, chosen)
        self.unrest[chosen] = np.median(self.unrest)
        self.before = guess.X
        return guess

    def _filled(self, guess: Guess, chosen: NDArray[np.int64]) -> Guess:
        """Return the guess with new rows in some places, one after the other."""
        equations, generator = self.equations, self.generator
        X, v, cluster = guess.X.copy(), guess.v.copy(), guess.cluster.copy()
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
            g = equations.white_g(X[row : row + 1])[0]
            left = left - v[row][:, None, None] * np.outer(g, g)
        return replace(guess, X=X, v=v, cluster=cluster)


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
    """Return the square of what one more row explains of what is left, g^T R_k g, none below 0, and g^T g, by row."""
    G = equations.white_g(X)
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
