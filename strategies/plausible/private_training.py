"""What cannot be of sums with noise for differential privacy: no noise is as large as `opened.slack` says."""

import numpy as np

from flower_pansvm.fourier_map import BINS
from flower_pansvm.systems.dp_svm import PRIVATE_BINS, PRIVATE_MOMENTS, PRIVATE_SCORES, PRIVATE_STEP
from strategies.plausible.check import CHECKS, Problems
from strategies.plausible.opened import Opened


@CHECKS.register(PRIVATE_BINS.name)
def private_bins(opened: Opened) -> Problems:
    """Yield what cannot be of numbers of rows and cells."""
    columns = len(opened.question.low)
    yield from opened.misshapen(rows=(1,), cells=(columns, BINS))
    for name in ("rows", "cells"):
        if opened.negative(name):
            yield f"'{name}' holds a number that is negative, by more than the noise"
    if opened.exceeds("cells", opened.sums["rows"], "rows"):
        yield "'cells' has more cells in a bin than there are rows"


@CHECKS.register(PRIVATE_MOMENTS.name)
def private_moments(opened: Opened) -> Problems:
    """Yield what cannot be of second moments."""
    diagonal, size = opened.sums["diagonal"], opened.sums["diagonal"].size
    yield from opened.misshapen(diagonal=(-1,), above=(size * (size - 1) // 2,), classes=(size, -1))
    if opened.negative("diagonal"):
        yield "'diagonal' holds a sum of squares that is negative, by more than the noise"
    row, column = np.triu_indices(size, 1)
    for sign in (1, -1):
        products = sign * opened.sums["above"] - (diagonal[row] + diagonal[column]) / 2
        if (products > opened.off("above", "diagonal")).any():
            yield "'above' holds a sum of products that is larger than the squares"


@CHECKS.register(PRIVATE_STEP.name)
def private_step(opened: Opened) -> Problems:
    """Yield what cannot be of slopes."""
    yield from opened.misshapen(slope=opened.question.weights.shape)


@CHECKS.register(PRIVATE_SCORES.name)
def private_scores(opened: Opened) -> Problems:
    """Yield what cannot be of numbers of test rows."""
    classes = max(opened.question.weights.shape[-1], 2)
    yield from opened.misshapen(cells=(classes, 2))
    if opened.negative("cells"):
        yield "'cells' holds a number of rows that is negative, by more than the noise"
