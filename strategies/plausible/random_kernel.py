"""What cannot be of numbers of rows by column block, nor of the columns' cells."""

from flower_pansvm.systems.random_kernel import CELL, MEANS
from strategies.plausible.check import CHECKS, Problems
from strategies.plausible.opened import Opened


@CHECKS.register(CELL.name)
def cell(opened: Opened) -> Problems:
    """Yield what cannot be of numbers of rows."""
    yield from opened.misshapen(rows=(-1,))
    if opened.broken("rows"):
        yield "'rows' holds a number of rows that is negative or not whole"


@CHECKS.register(MEANS.name)
def means(opened: Opened) -> Problems:
    """Yield what cannot be of the columns' cells: their numbers and sums."""
    yield from opened.misshapen(count=(-1,), total=opened.sums["count"].shape)
    if opened.broken("count"):
        yield "'count' holds a number of cells that is negative or not whole"
