"""Fitting rows to exact Hessians: Levenberg and Marquardt, from several rows at each landmark."""

import time
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError

from simulations.attack.equations import Equations, Guess
from simulations.attack.knowledge import Knowledge
from simulations.attack.replacing import Replacement

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-9, 1e3
LARGEST_MOVE = 1.0
"""A cell moves by at most so many standard deviations in a step, root mean square over its row."""

STALLED, SLOW = 4, 0.05
"""After so many steps that each take less than this share off the cost, some rows are replaced."""


def start_from_landmarks(knowledge: Knowledge, equations: Equations, seed: int) -> Guess:
    """Return several copies of each landmark, a little apart."""
    generator = np.random.default_rng(seed)
    cluster = np.arange(knowledge.rows) % len(knowledge.landmarks)
    X = knowledge.landmarks[cluster]
    X = X + 0.3 * equations.spread * generator.standard_normal(X.shape)
    return Guess(X, cluster, equations.factors(X))


def fit(equations: Equations, guess: Guess, seconds: float, seed: int = 0) -> Guess:
    """Return the guess that has missed least in so many seconds.

    Parameters
    ----------
    equations : Equations
        What is known.
    guess : Guess
        Where to begin.
    seconds : float
        Time to take.
    seed : int
        Seed of the candidates that replace rows.
    """
    replacement = Replacement(equations, np.random.default_rng(seed))
    begun, damping, slow = time.monotonic(), FIRST_DAMPING, 0
    found = equations.residuals(guess)
    best, least = guess, equations.misfit(found)
    while time.monotonic() - begun < seconds and damping < MOST_DAMPING:
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
