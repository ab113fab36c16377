"""What cannot be of the sites' moments, nor of their numbers of rows."""

import numpy as np

from flower_pansvm.systems.common import MOMENTS, ROWS
from strategies.plausible.check import CHECKS, Problems
from strategies.plausible.opened import ROUNDING, Opened


@CHECKS.register(MOMENTS.name)
def moments(opened: Opened) -> Problems:
    """Yield what cannot be of numbers of rows, and of numbers, sums and sums of squares of cells."""
    folds, cells = opened.sums["rows"].shape[:1], opened.sums["count"].shape
    yield from opened.misshapen(rows=(-1, -1), test_rows=(1,), count=(*folds, -1), total=cells, square=cells)
    for name in ("rows", "test_rows", "count"):
        if opened.broken(name):
            yield f"'{name}' holds a number of rows or cells that is negative or not whole"
    if (opened.sums["count"] > opened.sums["rows"].sum(axis=1, keepdims=True)).any():
        yield "'count' has more cells of a column than there are rows"
    yield from squares(opened)


@CHECKS.register(ROWS.name)
def rows(opened: Opened) -> Problems:
    """Yield what cannot be of numbers of rows that are counted once more."""
    yield from opened.misshapen(rows=(-1 if opened.rows is None else len(opened.rows.train), opened.classes))
    if opened.broken("rows"):
        yield "'rows' holds a number of rows that is negative or not whole"
    if opened.rows is not None and (opened.sums["rows"] > opened.rows.train).any():
        yield "there are more rows than before sites were lost"


def squares(opened: Opened) -> Problems:
    """Yield what cannot be of numbers, sums and sums of squares of the same cells: their variance is not negative."""
    count, total, square = (opened.sums[name] for name in ("count", "total", "square"))
    count = count[..., None] if count.ndim < total.ndim else count
    if opened.negative("square"):
        yield "'square' holds a sum of squares that is negative"
    off = opened.off("count") * np.abs(square) + opened.off("square") * count
    off += 2 * opened.off("total") * np.abs(total)
    if (np.square(total) > count * square * (1 + ROUNDING) + off).any():
        yield "'total' holds a sum too large for its number of cells and sum of squares"
