"""What cannot be of counts of rows on which a global mixture model was tried."""

from flower_pansvm.systems.mixture.tasks import MIXTURE_SCORES
from strategies.plausible.check import CHECKS, Problems
from strategies.plausible.opened import Opened


@CHECKS.register(MIXTURE_SCORES.name)
def mixture_scores(opened: Opened) -> Problems:
    """Yield what cannot be: each test row is counted once, and once in the histogram of each column."""
    columns = opened.classes if opened.classes > 2 else 1
    yield from opened.misshapen(confusion=(opened.classes, opened.classes), histogram=(columns, 2, -1))
    for name in ("confusion", "histogram"):
        if opened.broken(name):
            yield f"'{name}' holds a number of rows that is negative or not whole"
    confusion, histogram = opened.sums["confusion"], opened.sums["histogram"]
    if (histogram.sum(axis=(1, 2)) != confusion.sum()).any():
        yield "'histogram' does not have the rows of 'confusion'"
