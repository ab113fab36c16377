"""From the dual variables of cutting planes to those of rows: alpha_i = sum_t beta_t c_i(t).

The master's solution is w = sum_t beta_t a_t, and a_t = sum_i c_i(t) y_i f_i. So w = sum_i alpha_i y_i f_i with this
alpha, which satisfies 0 <= alpha_i <= C weight_i and sum_i alpha_i y_i = 0: it is a solution of the SVM's dual problem,
as exact as the master's lower bound.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.cutting_planes.cuts import Draw, Labels, Mapped, Question, RowFactors, blocks


@dataclass(frozen=True)
class Duals:
    """The cutting planes that hold up the solution of one problem."""

    points: NDArray[np.float64]  # (cuts, rank + 1): where they were asked for
    blurred: NDArray[np.int64]  # (cuts,): at how many rows of each site they are random
    beta: NDArray[np.float64]  # (cuts,): their dual variables


def row_duals(mapped: Mapped, labels: Labels, duals: Duals, draw: Draw) -> NDArray[np.float64]:
    """Return the dual variable of each of a site's rows, shape (rows,); with the draw of the cutting planes' time."""
    rows = len(labels.y)
    alpha = np.zeros(rows)
    for count in np.unique(duals.blurred):
        own = duals.blurred == count
        points, beta = duals.points[own], duals.beta[own]
        factors = RowFactors(labels, Question(points, int(count), points[0]), draw)
        for block in blocks(rows):
            c, _ = factors.of_cuts(mapped(block), block)
            alpha[block] += c @ beta
        chosen, change = factors.blurred()
        alpha[chosen] += change @ beta
    # A row whose c are 0 in all of them but for a difference of roundings is no support vector.
    cleaned: NDArray[np.float64] = np.maximum(alpha, 0.0)
    return cleaned
