"""What cannot be of counts of rows on which models were tried."""

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.common import NO_FOLD
from flower_pansvm.systems.pan_svm.tasks import SCORES
from strategies.plausible.check import CHECKS, Problems
from strategies.plausible.opened import Opened


@CHECKS.register(SCORES.name)
def scores(opened: Opened) -> Problems:
    """Yield what cannot be of counts of rows: each row of a fold, or test row, is counted once by each model."""
    models, columns = opened.question.centres.shape
    yield from opened.misshapen(
        confusion=(models, opened.classes, opened.classes), histogram=(models, columns, 2, -1)
    )
    for name in ("confusion", "histogram"):
        if opened.broken(name):
            yield f"'{name}' holds a number of rows that is negative or not whole"
    folds, confusion = opened.question.folds, opened.sums["confusion"]
    by_class, rows = confusion.sum(axis=2), confusion.sum(axis=(1, 2))
    tested = by_class[folds == NO_FOLD]
    if (tested != tested[:1]).any():
        yield "'confusion' does not have the same test rows of each class with every model"
    if opened.rows is not None:
        for fold in np.unique(folds[folds != NO_FOLD]):
            if _miscounted(by_class[folds == fold], opened.rows.train[fold], opened, opened.rows.train_sites):
                yield "'confusion' does not have the training rows that the sites have counted of each class"
        if _miscounted(rows[folds == NO_FOLD], opened.rows.test, opened, opened.rows.test_sites):
            yield "'confusion' does not have the test rows that the sites have counted"
    histogram = opened.sums["histogram"]
    if columns and (
        (histogram.sum(axis=(2, 3)) != rows[:, None]).any()
        or (histogram[:, :, 1].sum(axis=2) != (by_class if columns > 1 else by_class[:, 1:])).any()
    ):
        yield "'histogram' does not have the rows of 'confusion'"


def _miscounted(
    counts: Floats, expected: Floats | float, opened: Opened, sites_then: tuple[str, ...]
) -> bool:
    """Tell whether counts are not what was counted before, or more than that if it was over other sites."""
    wrong = counts != expected if opened.sites == sites_then else counts > expected
    return bool(wrong.any())
