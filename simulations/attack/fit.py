"""Fitting rows to everything at once: Levenberg and Marquardt, from several rows at each landmark or from the truth."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError

from simulations.attack.equations import Equations
from simulations.attack.guess import Guess
from simulations.attack.knowledge import Floats, Knowledge
from simulations.attack.replacing import Replacement

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-9, 1e3
LARGEST_MOVE = 1.0
"""A cell moves by at most so many standard deviations in a step, root mean square over its row."""

STALLED, SLOW = 4, 0.05
"""After so many steps that each take less than this share off the cost, some rows are replaced."""


def start_from_landmarks(knowledge: Knowledge, equations: Equations, seed: int) -> Guess:
    """Return several copies of each landmark, a little apart, on the sides that the model gives them."""
    generator = np.random.default_rng(seed)
    cluster = np.arange(knowledge.rows) % len(knowledge.landmarks)
    X = knowledge.landmarks[cluster]
    X = X + 0.3 * equations.spread * generator.standard_normal(X.shape)
    last = knowledge.asked[-1].question
    # Where no curvature was asked for, there is no point that it was asked at.
    best = last.centre if len(last.centre) else last.points[-1]
    decisions = equations.mapped(X) @ best[:-1] + best[-1]
    positive, _ = knowledge.sides()
    y = -np.ones(knowledge.rows)
    y[np.argsort(-decisions)[:positive]] = 1.0
    return with_factors(equations, Guess(X, y, cluster))


def with_factors(equations: Equations, guess: Guess) -> Guess:
    """Return a guess with the factors that are to be expected of its rows."""
    if not equations.curvatures:
        return guess
    return replace(guess, v=equations.bumps(equations.mapped(guess.X), guess.y))


def fit(
    equations: Equations,
    guess: Guess,
    seconds: float,
    report: Callable[[float, float, Floats], None],
    *,
    joint: bool,
    seed: int = 0,
) -> Guess:
    """Return the guess that has missed least in so many seconds.

    Parameters
    ----------
    equations : Equations
        What is known.
    guess : Guess
        Where to begin.
    seconds : float
        Time to take.
    report : callable
        Called with the time, the cost and the guessed rows after each step.
    joint : bool
        Whether cuts have a part; without, only what does not ask who is near the margin.
    seed : int
        Seed of the candidates that replace rows.
    """
    replacement = Replacement(equations, np.random.default_rng(seed))
    free = bool(equations.curvatures) and not joint
    begun, damping, slow = time.monotonic(), FIRST_DAMPING, 0
    if free:
        guess = replace(guess, v=equations.free_factors(guess.X))
    found = equations.residuals(guess)
    best, least = guess, equations.misfit(found, joint)
    while time.monotonic() - begun < seconds and damping < MOST_DAMPING:
        weights = equations.weights(found, joint)
        before = equations.cost(guess, found, weights)
        try:
            moved, changed = equations.step(guess, found, weights, damping)
            length = np.sqrt(np.square(moved).mean(axis=1))
            moved *= np.minimum(1.0, LARGEST_MOVE / np.maximum(length, 1e-12))[:, None]
            X = guess.X + moved
            v = equations.free_factors(X) if free else np.maximum(guess.v + changed, 0.0)
        except LinAlgError:
            damping *= 5.0
            continue
        tried = replace(guess, X=X, v=v)
        then = equations.residuals(tried, same=found)
        after = equations.cost(tried, then, weights)
        if after < before:
            slow = slow + 1 if before - after < SLOW * before else 0
            guess, found, damping = tried, equations.residuals(tried), max(LEAST_DAMPING, damping / 3.0)
            report(time.monotonic() - begun, after, guess.X)
        else:
            slow, damping = slow + 1, damping * 4.0
        misfit = equations.misfit(found, joint)
        if misfit < least:
            best, least = guess, misfit
        if slow >= STALLED and equations.curvatures:
            guess, slow, damping = replacement(guess), 0, min(max(damping, 1e-3), 1.0)
            if free:
                guess = replace(guess, v=equations.free_factors(guess.X))
            found = equations.residuals(guess)
    return best
