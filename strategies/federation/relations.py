"""Relations that hold between the results of a sum, and between a sum and earlier ones, whatever the sites' rows are.

What can be said of one result alone is declared with its field (:func:`flower_pansvm.tasks.summed`).
"""

from collections.abc import Callable

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.common import MOMENTS, NO_FOLD, ROWS
from flower_pansvm.systems.dp_svm import PRIVATE_BINS, PRIVATE_MOMENTS
from flower_pansvm.systems.mixture.tasks import MIXTURE_SCORES
from flower_pansvm.systems.pan_svm.tasks import CUTS, LANDMARKS, SCORES, CutsAnswer
from flower_pansvm.systems.selection import CLASS_MOMENTS, SUPPORT
from strategies.federation.checks import ROUNDING, AggregateResult, Problems
from strategies.master.packing import curvature_diagonal, curvature_size, unpack_answers

CURVATURE_ROUNDING = 1e-4
"""As `ROUNDING`, of a curvature, which the sites sum in single precision; relative to its largest number."""


def _moments(result: AggregateResult) -> Problems:
    if (result.sums["count"] > result.sums["rows"].sum(axis=1, keepdims=True)).any():
        yield "'count' has more cells of a column than there are rows"
    yield from _squares(result)


def _rows(result: AggregateResult) -> Problems:
    known = result.request.rows
    if known is not None and (result.sums["rows"] > known.train).any():
        yield "there are more rows than before sites were lost"


def _class_moments(result: AggregateResult) -> Problems:
    known = result.request.rows
    if known is not None and (result.sums["count"] > known.train.sum(axis=0)[:, None]).any():
        yield "'count' has more cells of a column than there are rows of a class"
    yield from _squares(result)


def _support(result: AggregateResult) -> Problems:
    known, features = result.request.rows, result.sums["weights"].shape[-1]
    yield from result.wrong_shape(total=(-1, 2, features), square=(-1, 2, features))
    if known is not None and (result.sums["count"] > known.train.sum()).any():
        yield "'count' has more support vectors than there are rows"
    yield from _squares(result)


def _squares(result: AggregateResult) -> Problems:
    """Yield what is wrong of numbers, sums and sums of squares of the same cells: their variance is not negative."""
    count, total, square = (result.sums[name] for name in ("count", "total", "square"))
    count = count[..., None] if count.ndim < total.ndim else count
    tolerance = result.tolerance("count") * np.abs(square) + result.tolerance("square") * count
    tolerance += 2 * result.tolerance("total") * np.abs(total)
    if (np.square(total) > count * square * (1 + ROUNDING) + tolerance).any():
        yield "'total' holds a sum too large for its number of cells and sum of squares"


def _landmarks(result: AggregateResult) -> Problems:
    question, filled = result.request.question, result.sums["filled"]
    slots = min(question.slots_per_site * len(result.request.this.roster), question.slots)
    yield from result.wrong_shape(centres=(-1, slots, -1), filled=(-1, slots))
    if (filled > 1).any():
        yield "'filled' holds a slot that two sites have filled"
    largest = np.where(filled[..., None] > 0.5, result.request.bounds["centres"], 0.0)
    if (np.abs(result.sums["centres"]) > largest * (1 + ROUNDING) + result.tolerance("centres")).any():
        yield "'centres' has a landmark in a slot that is not filled, or one further out than any row"


def _cuts(result: AggregateResult) -> Problems:
    """Yield what is wrong of cutting planes: any c in [0, 1] for each row gives one that is nowhere above the loss."""
    asked, sums = result.request.question, result.sums
    pairs = zip(asked.rank, asked.leading, strict=True)
    curvature = sum(curvature_size(int(rank), int(leading)) for rank, leading in pairs)
    yield from result.wrong_shape(curvature=(curvature,))
    if (
        result.exceeds("d", sums["m"], "m")
        or (-sums["d"] > sums["m"] * (1 + ROUNDING) + result.tolerance("d", "m")).any()
    ):
        yield "'d' is larger than 'm'"
    questions = asked.questions()
    for question, answer in zip(questions, unpack_answers(CutsAnswer(**sums), questions), strict=True):
        cuts, (w, b) = answer.cuts, (question.points[:, :-1], question.points[:, -1:])
        planes = cuts.m - w @ cuts.a.T - b * cuts.d
        size = cuts.m + np.abs(w) @ np.abs(cuts.a.T) + np.abs(b * cuts.d)
        tolerance = result.tolerance("m", "loss") + np.abs(w).sum(axis=1, keepdims=True) * result.tolerance(
            "a"
        )
        tolerance = tolerance + np.abs(b) * result.tolerance("d")
        if (planes > cuts.loss[:, None] + ROUNDING * size + tolerance).any():
            yield "'loss' is below a cutting plane, none of which can be above it"
        if question.leading >= 0:
            steep = curvature_diagonal(answer.curvature, question.leading)
            if (steep < -CURVATURE_ROUNDING * np.abs(steep).max()).any():
                yield "'curvature' is negative in a direction, and the loss is convex"


def _scores(result: AggregateResult) -> Problems:
    """Yield what is wrong of counts: each row of a fold, or test row, is counted once by each model."""
    folds, columns = result.request.question.folds, result.request.question.centres.shape[1]
    confusion, histogram = result.sums["confusion"], result.sums["histogram"]
    by_class, rows, known = confusion.sum(axis=2), confusion.sum(axis=(1, 2)), result.request.rows
    tested = by_class[folds == NO_FOLD]
    if (tested != tested[:1]).any():
        yield "'confusion' does not have the same test rows of each class with every model"
    if known is not None:
        for fold in np.unique(folds[folds != NO_FOLD]):
            if _miscounted(by_class[folds == fold], known.train[fold], result.sites, known.train_sites):
                yield "'confusion' does not have the training rows that the sites have counted of each class"
        if _miscounted(rows[folds == NO_FOLD], known.test, result.sites, known.test_sites):
            yield "'confusion' does not have the test rows that the sites have counted"
    if columns and (
        (histogram.sum(axis=(2, 3)) != rows[:, None]).any()
        or (histogram[:, :, 1].sum(axis=2) != (by_class if columns > 1 else by_class[:, 1:])).any()
    ):
        yield "'histogram' does not have the rows of 'confusion'"


def _miscounted(
    counts: Floats, expected: Floats | float, sites: tuple[str, ...], sites_then: tuple[str, ...]
) -> bool:
    """Tell whether counts are not what was counted before, or more than that if it was over other sites."""
    wrong = counts != expected if sites == sites_then else counts > expected
    return bool(wrong.any())


def _mixture_scores(result: AggregateResult) -> Problems:
    """Yield what is wrong: each test row is counted once, and once in the histogram of each column."""
    classes = len(result.sums["confusion"])
    yield from result.wrong_shape(histogram=(classes if classes > 2 else 1, 2, -1))
    if (result.sums["histogram"].sum(axis=(1, 2)) != result.sums["confusion"].sum()).any():
        yield "'histogram' does not have the rows of 'confusion'"


def _private_bins(result: AggregateResult) -> Problems:
    if result.exceeds("cells", result.sums["rows"], "rows"):
        yield "'cells' has more cells in a bin than there are rows"


def _private_moments(result: AggregateResult) -> Problems:
    diagonal, size = result.sums["diagonal"], result.sums["diagonal"].size
    yield from result.wrong_shape(above=(size * (size - 1) // 2,), classes=(size, -1))
    row, column = np.triu_indices(size, 1)
    squares = (diagonal[row] + diagonal[column]) / 2
    if (np.abs(result.sums["above"]) > squares + result.tolerance("above", "diagonal")).any():
        yield "'above' holds a sum of products that is larger than the squares"


RELATIONS: dict[str, Callable[[AggregateResult], Problems]] = {
    MOMENTS.name: _moments,
    ROWS.name: _rows,
    CLASS_MOMENTS.name: _class_moments,
    SUPPORT.name: _support,
    LANDMARKS.name: _landmarks,
    CUTS.name: _cuts,
    SCORES.name: _scores,
    MIXTURE_SCORES.name: _mixture_scores,
    PRIVATE_BINS.name: _private_bins,
    PRIVATE_MOMENTS.name: _private_moments,
}
"""By the name of a task, what yields the relations that do not hold. Each check may rely on those before it."""
