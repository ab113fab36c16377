"""What each of a site's rows is multiplied by in the sums that answer one question about cutting planes."""

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import blocks
from flower_pansvm.systems.pan_svm.cuts import Labels, Mapped, Question, Rough, RowFactors


def parts_in_cuts(mapped: Mapped, labels: Labels, question: Question) -> NDArray[np.float64]:
    """Return the factors of the rows in each cut, times their sides, and in the curvature, shape (sums, rows)."""
    factors, rows = RowFactors(labels, question), len(labels.y)
    signed, v = np.zeros((rows, len(question.points))), np.zeros((rows, int(question.leading >= 0)))
    for block in blocks(rows):
        F = mapped(block)
        rough = Rough.of(F, question.looked_at)
        near = factors.of_cuts(F, block, rough)
        signed[near.rows] = near.c
        if question.leading >= 0:
            v[block, 0] = factors.of_curvature(block, rough)
    signed *= labels.y[:, None]
    return np.hstack([signed, v]).T
