"""Linear SVMs over a site's rows, nearly trained: its first guess, all problems over the same rows at once.

Each problem takes steps of L-BFGS of its own (Nocedal and Wright 2006, *Numerical Optimization*, Algorithms 7.4, 7.5
and 3.1). All of them take a step at the same time, so that the rows are read once a step and not once for each problem:
with liblinear, which knows one problem only, a run on letter, 26 classes, takes 9.9 s of CPU in place of 4.4.
"""

from collections.abc import Callable

import numpy as np

from flower_pansvm.arrays import Floats, Ints

STEPS = 35
"""Steps of L-BFGS. More of them fit a site's models closer to its own rows, which takes the mean of all sites' models
farther from the best, more often than not. All steps are remembered."""

SMOOTHED = 0.1
"""Distance from the margin, in z, within which the hinge is a parabola: L-BFGS needs a gradient."""

ENOUGH = 1e-4
"""A point is low enough if the objective falls by this share of what the slope at the step's beginning promises."""

DONE = 1e-5
"""A problem is done when a step makes its objective lower by no more than this share."""

TRIES, SHORTEST, LONGEST = 12, 0.1, 0.5
"""How often a step is shortened, and by which factor at the most and at the least."""

TINY = float(np.finfo(np.float64).tiny)
"""The smallest number that can be divided by."""

Loss = Callable[[Floats, Ints], tuple[Floats, Floats]]
"""``loss(points, which)`` returns objectives and gradients of some of the problems, each at its own point."""

Pair = tuple[Floats, Floats, Floats]
"""Of one step of all problems: the change of the point, that of the gradient, and 1 / their product, or 0 for none."""


def near_optima(F: Floats, y: Floats, weight: Floats, C: Floats) -> Floats:
    """Return weights and bias of linear SVMs over the same rows, nearly, shape (problems, rank + 1).

    Each minimises ||w||^2 / 2C + the sum of weight times the smoothed hinge. Any point is a valid start, so single
    precision and few steps will do.

    Parameters
    ----------
    F : ndarray of shape (rows, rank)
        The mapped rows.
    y, weight : ndarray of shape (problems, rows)
        Sides, +1 or -1, and factors of the rows' losses.
    C : ndarray of shape (problems,)
        Penalties.
    """
    loss = _smoothed(F, y, weight, C)
    moving = np.arange(len(y))
    points = np.zeros((len(y), F.shape[1] + 1))
    value, gradient = loss(points, moving)
    scale = 1.0 / np.maximum(np.linalg.norm(gradient, axis=1), TINY)
    pairs: list[Pair] = []
    for _ in range(STEPS):
        descent = _downhill(gradient, pairs, scale)
        before, slope = points.copy(), gradient.copy()
        moving = _step(loss, points, value, gradient, descent, moving)
        if not len(moving):
            break
        step, change = points - before, gradient - slope
        product, square = _dots(step, change), _dots(change, change)
        # The objective may be a plane between the points, and a problem that is done has not moved.
        bent = np.minimum(product, square) > TINY
        inverse = np.divide(1.0, product, out=np.zeros_like(product), where=bent)
        scale = np.divide(product, square, out=scale, where=bent)
        pairs.append((step, change, inverse))
    return points


def _smoothed(F: Floats, y: Floats, weight: Floats, C: Floats) -> Loss:
    """Return the objectives with the smoothed hinge, whose slope rises from 0 to 1 around the margin."""
    narrow, signs = F.astype(np.float32), y.astype(np.float32)

    def loss(points: Floats, chosen: Ints) -> tuple[Floats, Floats]:
        w, cost = points[:, :-1], weight[chosen]
        # A point too far away for single precision has no number for a loss, so it is not taken for a lower one.
        with np.errstate(over="ignore", invalid="ignore"):
            decisions = w.astype(np.float32) @ narrow.T + points[:, -1:].astype(np.float32)
            z = np.float32(1.0) - signs[chosen] * decisions
        slope = np.clip((z + SMOOTHED) / (2.0 * SMOOTHED), 0.0, 1.0)
        hinge = np.where(z > SMOOTHED, z, SMOOTHED * slope**2)
        pull = -cost * y[chosen] * slope
        gradient = np.column_stack([w / C[chosen, None] + pull.astype(np.float32) @ narrow, pull.sum(axis=1)])
        return 0.5 * _dots(w, w) / C[chosen] + _dots(cost, hinge), gradient

    return loss


def _downhill(gradient: Floats, pairs: list[Pair], scale: Floats) -> Floats:
    """Return the descent direction: minus the gradient times the pairs' inverse Hessian (Algorithm 7.4)."""
    descent, shares = -gradient, []
    for step, change, inverse in reversed(pairs):
        shares.append(inverse * _dots(step, descent))
        descent -= shares[-1][:, None] * change
    descent *= scale[:, None]
    for (step, change, inverse), share in zip(pairs, reversed(shares), strict=True):
        descent += (share - inverse * _dots(change, descent))[:, None] * step
    return descent


def _step(loss: Loss, points: Floats, value: Floats, gradient: Floats, descent: Floats, moving: Ints) -> Ints:
    """Move each problem along its direction until it is low enough, and return those that are not done.

    The step is shortened to the minimum of a parabola through known values (Algorithm 3.1, section 3.5). ``points``,
    ``value`` and ``gradient`` are changed in place.
    """
    begin, high, promised = points.copy(), value.copy(), -_dots(gradient, descent)
    share, open_ = np.ones(len(points)), moving
    for _ in range(TRIES):
        trial = begin[open_] + share[open_, None] * descent[open_]
        values, slopes = loss(trial, open_)
        fall = share[open_] * promised[open_]
        low = values <= high[open_] - ENOUGH * fall
        done = open_[low]
        points[done], value[done], gradient[done] = trial[low], values[low], slopes[low]
        with np.errstate(
            invalid="ignore", divide="ignore"
        ):  # where this is no number, `fmax` takes the shortest
            lowest = 0.5 * fall / (values - high[open_] + fall)
        share[open_] *= np.fmin(np.fmax(lowest, SHORTEST), LONGEST)
        open_ = open_[~low]
        if not len(open_):
            break
    moved = np.setdiff1d(moving, open_)
    return moved[high[moved] - value[moved] > DONE * high[moved]]


def _dots(a: Floats, b: Floats) -> Floats:
    products: Floats = np.einsum("ij,ij->i", a, b)
    return products
