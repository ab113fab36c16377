"""The master problem: the best weights under the cutting planes known so far.

Paper: Lu 2016, Algorithm 2, line 10:  min 1/2 ||w||^2 + C L  subject to  L >= m_t - w.a_t - b d_t,  L >= 0.
Its dual, with one variable for each cut, gives the lower bound and the dual variables:

    max  m.beta - 1/2 ||sum_t beta_t a_t||^2   subject to  beta >= 0,  sum_t beta_t <= C,  d.beta = 0.
"""

from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Bools, Floats
from strategies.master.quadratic_program import basis_coordinates, minimise

ROUNDING = 1e-11
"""A d below this share of m is 0 but for rounding, as it is at the origin with balanced class weights."""


@dataclass(frozen=True)
class MasterSolution:
    """Solution of the master problem."""

    w: Floats  # (rank,): weights; sum_t beta_t a_t within the solver's tolerance
    b: float  # bias
    beta: Floats  # (cuts,): dual variable of each cut, its coefficient in w
    lower: float  # value of the dual objective: a lower bound of the SVM objective
    tolerance: float  # tolerance that the quadratic program reached, in shares of the rows


def solve_master(
    a: Floats,
    d: Floats,
    m: Floats,
    C: float,
    rows: float,
    *,
    likely: Bools,
) -> MasterSolution:
    """Solve the master problem for the given cuts.

    Few of many cuts support the solution. So the quadratic program is solved for the likely cuts, then again with
    those that its solution violates, until it violates none.

    Parameters
    ----------
    a : ndarray of shape (cuts, rank)
        Sums of c y f.
    d, m : ndarray of shape (cuts,)
        Sums of c y and of c.
    C : float
        Penalty of the SVM.
    rows : float
        Number of rows in the sums, the unit of the quadratic program, whose numbers then stay near 1 for any size
        of the federation. 0 for a problem without rows.
    likely : ndarray of bool, shape (cuts,)
        Cuts to begin with, at least one. They change the time that the solution takes, not the solution.

    Raises
    ------
    TrainingError
        If the solver does not find the solution.
    """
    # Otherwise a bias of 1 / rounding error would seem to remove all of the loss.
    d = np.where(np.abs(d) > ROUNDING * m, d, 0.0)
    rows = rows if rows > 0 else 1.0
    chosen = likely.copy()
    while True:
        w, b, loss, multipliers, tolerance = _quadratic_program(
            a[chosen] / rows, d[chosen] / rows, m[chosen] / rows, C * rows
        )
        violated = ~chosen & ((m - a @ w - b * d) / rows > loss + tolerance)
        if not violated.any():
            break
        chosen |= violated
    share = np.zeros(len(m))
    share[chosen] = multipliers
    beta = C * _feasible(share, d)
    return MasterSolution(w, b, beta, float(m @ beta - 0.5 * np.square(beta @ a).sum()), tolerance)


def _quadratic_program(
    a: Floats, d: Floats, m: Floats, C: float
) -> tuple[Floats, float, float, Floats, float]:
    """Return w, b, L, the cuts' multipliers in shares of C and the tolerance reached.

    The solution lies in the span of the cuts, so w is computed in an orthonormal basis of the span, in units of
    sqrt(C): then C scales only the subgradients. The dual program is smaller at first, but the solver fails on it
    at a large C.
    """
    coordinates, combine = basis_coordinates(a.T)
    root = np.sqrt(C)
    u, b, loss, multipliers, tolerance = minimise(np.zeros(len(coordinates)), root * coordinates.T, d, m)
    return combine(root * u), b, loss, multipliers, tolerance


def _feasible(share: Floats, d: Floats) -> Floats:
    """Shrink the shares until d.share = 0 and sum(share) <= 1 hold exactly.

    The solver meets both only within its tolerance; the dual objective is a lower bound only where both hold.
    """
    up, down = share @ np.maximum(d, 0.0), share @ np.maximum(-d, 0.0)
    balanced = share.copy()
    balanced[d > 0] *= min(up, down) / up if up > 0 else 0.0
    balanced[d < 0] *= min(up, down) / down if down > 0 else 0.0
    return balanced / max(1.0, float(balanced.sum()))
