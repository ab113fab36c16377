"""The master problem: the best weights as far as the cutting planes known so far can tell.

Paper: Lu 2016, Algorithm 2, line 10:  min 1/2 ||w||^2 + C L  subject to  L >= m_t - w.a_t - b d_t,  L >= 0.
It is solved in its dual, whose size is the number of cuts:

    max  m.beta - 1/2 ||sum_t beta_t a_t||^2   subject to  beta >= 0,  sum_t beta_t <= C,  d.beta = 0,

with w = sum_t beta_t a_t, and b the multiplier of the equality.
"""

from dataclasses import dataclass

import numpy as np
import piqp
from numpy.typing import NDArray

from flower_pansvm.errors import TrainingError


@dataclass(frozen=True)
class MasterSolution:
    """Solution of the master problem.

    Parameters
    ----------
    w : ndarray of shape (rank,)
        Weights.
    b : float
        Bias.
    beta : ndarray of shape (cuts,)
        Dual variables; at a cut's place its share in w.
    lower : float
        Value of the dual objective: a lower bound of the SVM objective.
    """

    w: NDArray[np.float64]
    b: float
    beta: NDArray[np.float64]
    lower: float


def solve_master(
    a: NDArray[np.float64], d: NDArray[np.float64], m: NDArray[np.float64], C: float, rows: float
) -> MasterSolution:
    """Solve the master problem for the given cuts.

    Parameters
    ----------
    a : ndarray of shape (cuts, rank)
        Sums of c y f.
    d, m : ndarray of shape (cuts,)
        Sums of c y and of c.
    C : float
        Penalty of the SVM.
    rows : float
        Number of rows in the sums; the quadratic program is solved in units of it, so that its numbers stay
        near 1 whatever the size of the federation.

    Raises
    ------
    TrainingError
        If the solver does not find the solution.
    """
    a_unit, d_unit, m_unit = a / rows, d / rows, m / rows
    count = len(m)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = 1e-10
    solver.settings.eps_rel = 1e-10
    solver.setup(
        P=(C * rows) * (a_unit @ a_unit.T),
        c=-m_unit,
        A=d_unit[None, :],
        b=np.zeros(1),
        G=np.ones((1, count)),
        h_l=None,
        h_u=np.ones(1),
        x_l=np.zeros(count),
        x_u=np.full(count, np.inf),
    )
    status = solver.solve()
    if status != piqp.PIQP_SOLVED:
        raise TrainingError(
            f"The quadratic program of {count} cutting planes was not solved ({status}). A very large C makes it "
            f"ill-conditioned: C is {C:g}, try a smaller one."
        )
    share = np.maximum(solver.result.x, 0.0)
    w_unit = share @ a_unit
    return MasterSolution(
        w=C * rows * w_unit,
        b=float(solver.result.y[0]),
        beta=C * share,
        lower=C * rows * float(m_unit @ share - 0.5 * C * rows * (w_unit @ w_unit)),
    )
