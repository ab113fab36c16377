"""What cannot be of the sums of a feature selection."""

from flower_pansvm.systems.selection import CLASS_MOMENTS, SUPPORT
from strategies.plausible.check import CHECKS, Problems
from strategies.plausible.opened import Opened
from strategies.plausible.scaling import squares


@CHECKS.register(CLASS_MOMENTS.name)
def class_moments(opened: Opened) -> Problems:
    """Yield what cannot be of moments of the rows of each class."""
    yield from opened.misshapen(**dict.fromkeys(CLASS_MOMENTS.summed, (opened.classes, opened.columns)))
    if opened.broken("count"):
        yield "'count' holds a number of cells that is negative or not whole"
    if opened.rows is not None and (opened.sums["count"] > opened.rows.train.sum(axis=0)[:, None]).any():
        yield "'count' has more cells of a column than there are rows of a class"
    yield from squares(opened)


@CHECKS.register(SUPPORT.name)
def support(opened: Opened) -> Problems:
    """Yield what cannot be of moments of support vectors."""
    weights = opened.sums["weights"].shape
    cells = (len(opened.question.rank), 2, weights[-1] if weights else -1)
    yield from opened.misshapen(weights=(cells[0], -1), count=cells[:2], total=cells, square=cells)
    if opened.broken("count"):
        yield "'count' holds a number of support vectors that is negative or not whole"
    if opened.rows is not None and (opened.sums["count"] > opened.rows.train.sum()).any():
        yield "'count' has more support vectors than there are rows"
    yield from squares(opened)
