"""Fitting rows to exact Hessians: Levenberg-Marquardt, from several rows at each landmark.

Rows that keep moving are replaced by others, where the Hessians are least explained.
"""

import time
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError

from flower_pansvm.arrays import Floats, Ints
from simulations.attack.equations import Equations, Guess
from simulations.attack.knowledge import Knowledge

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-9, 1e3
LARGEST_MOVE = 1.0
"""Longest step of a row, in standard deviations, root mean square over its cells."""

STALLED, SLOW = 4, 0.05
"""Some rows are replaced after so many steps that each reduce the cost by less than this share."""

REPLACED, RESTLESS = 0.08, 0.6
"""Share of the rows that are replaced at a time, and share, those that moved most, from which they are drawn."""

CANDIDATES, BEST, CLIMBS = 1500, 40, 25
"""Candidates for a replaced row; the best of them climb so many steps before the choice."""


def start_from_landmarks(knowledge: Knowledge, equations: Equations) -> Guess:
    """Return several slightly perturbed copies of each landmark."""
    generator = np.random.default_rng(0)
    cluster = np.arange(knowledge.rows) % len(knowledge.landmarks)
    X = knowledge.landmarks[cluster]
    X = X + 0.3 * equations.spread * generator.standard_normal(X.shape)
    return Guess(X, cluster, equations.factors(X))


def fit(equations: Equations, guess: Guess, seconds: float, seed: int = 0) -> Guess:
    """Return the guess with the least misfit after so many seconds; ``seed`` draws the rows that replace others."""
    replacement = Replacement(equations, np.random.default_rng(seed))
    start, damping, slow = time.thread_time(), FIRST_DAMPING, 0
    residuals = equations.residuals(guess)
    best, least = guess, equations.misfit(residuals)
    while time.thread_time() - start < seconds and damping < MOST_DAMPING:
        weights = equations.weights(residuals)
        cost = equations.cost(guess, residuals, weights)
        try:
            moved = equations.step(guess, residuals, weights, damping)
            length = np.sqrt(np.square(moved).mean(axis=1))
            moved *= np.minimum(1.0, LARGEST_MOVE / np.maximum(length, 1e-12))[:, None]
            candidate = replace(guess, X=guess.X + moved, v=equations.factors(guess.X + moved))
        except LinAlgError:
            damping *= 5.0
            continue
        new_residuals = equations.residuals(candidate)
        new_cost = equations.cost(candidate, new_residuals, weights)
        if new_cost < cost:
            slow = slow + 1 if cost - new_cost < SLOW * cost else 0
            guess, residuals, damping = candidate, new_residuals, max(LEAST_DAMPING, damping / 3.0)
        else:
            slow, damping = slow + 1, damping * 4.0
        misfit = equations.misfit(residuals)
        if misfit < least:
            best, least = guess, misfit
        if slow >= STALLED:
            guess, slow, damping = replacement(guess), 0, min(max(damping, 1e-3), 1.0)
            guess = replace(guess, v=equations.factors(guess.X))
            residuals = equations.residuals(guess)
    return best


class Replacement:
    """Replaces some of the rows that still move.

    A right row stays in place while others are replaced; a row that compensates for others moves with them. Replacing
    the rows with the smallest part in the Hessians instead would lose right ones.
    """

    def __init__(self, equations: Equations, generator: np.random.Generator) -> None:
        self.equations, self.generator = equations, generator
        self.unrest = np.ones(equations.rows)
        self.before: Floats | None = None

    def __call__(self, guess: Guess) -> Guess:
        """Return the guess with some rows replaced by the candidates that explain most of the residual."""
        if self.before is not None:
            moved = np.sqrt(np.square(guess.X - self.before).mean(axis=1)) / self.equations.spread
            self.unrest = 0.5 * self.unrest + 0.5 * np.minimum(moved, 1.0)
        # Shuffled first: at the start all are equal.
        order = self.generator.permutation(len(guess.X))
        order = order[np.argsort(-self.unrest[order], kind="stable")]
        restless = order[: max(2, int(RESTLESS * len(order)))]
        count = min(len(restless), max(2, int(REPLACED * len(order))))
        chosen = self.generator.choice(restless, count, replace=False)
        guess = self._filled(guess, chosen)
        self.unrest[chosen] = np.median(self.unrest)
        self.before = guess.X
        return guess

    def _filled(self, guess: Guess, chosen: Ints) -> Guess:
        """Return the guess with some rows replaced, one after the other."""
        equations, generator = self.equations, self.generator
        X, v, cluster = guess.X.copy(), guess.v.copy(), guess.cluster.copy()
        v[chosen] = 0.0
        remainder = equations.residuals(replace(guess, v=v)).hessians
        for row in chosen:
            near = generator.integers(len(equations.landmarks), size=CANDIDATES)
            candidates = equations.landmarks[near]
            candidates = candidates + equations.spread * generator.standard_normal(candidates.shape)
            best = np.argsort(-_explained(equations, candidates, remainder)[0])[:BEST]
            climbed = _climbed(equations, candidates[best], remainder)
            shares, gains, sizes = _explained(equations, climbed, remainder)
            most = int(np.argmax(shares))
            X[row], cluster[row] = climbed[most], near[best[most]]
            v[row] = 0.7 * gains[most] / sizes[most] ** 2
            g = equations.white_g(X[row : row + 1])[0]
            remainder = remainder - v[row][:, None, None] * np.outer(g, g)
        return replace(guess, X=X, v=v, cluster=cluster)


def _climbed(equations: Equations, X: Floats, remainder: Floats) -> Floats:
    """Return points moved uphill, in ever shorter steps, to where a row explains most of the residual."""
    best, most = X.copy(), _explained(equations, X, remainder)[0]
    for step in range(CLIMBS):
        gradient = _uphill(equations, X, remainder)
        length = np.sqrt(np.square(gradient).mean(axis=1, keepdims=True))
        X = X + 0.1 * equations.spread * (1.0 - step / CLIMBS) * gradient / np.maximum(length, 1e-300)
        shares = _explained(equations, X, remainder)[0]
        better = shares > most
        best[better], most[better] = X[better], shares[better]
    return best


def _explained(equations: Equations, X: Floats, remainder: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the explained share of the residual R, the gains g^T R_k g, none below 0, and g^T g, by row."""
    G = equations.white_g(X)
    size = np.square(G).sum(axis=1)
    gain = np.stack([np.einsum("ij,ij->i", G @ R, G) for R in remainder], axis=1).clip(0.0)
    return np.square(gain).sum(axis=1) / np.square(size), gain, size


def _uphill(equations: Equations, X: Floats, remainder: Floats) -> Floats:
    """Return the logarithmic derivatives of the explained share by each cell, shape as X."""
    G, D = equations.white_rows(X)
    share, gain, size = _explained(equations, X, remainder)
    by_g = sum(4.0 * gain[:, k, None] * (G @ R) for k, R in enumerate(remainder)) / np.square(size)[:, None]
    by_g = by_g - 4.0 * (share / size)[:, None] * G
    gradient: Floats = np.einsum("iar,ir->ia", D, by_g) / np.maximum(share, 1e-300)[:, None]
    return gradient
