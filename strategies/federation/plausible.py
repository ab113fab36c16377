"""Whether a sum can be: what the coordinator checks of every sum as soon as it is opened.

A site can contribute what it likes, and a sum hides it. But rows cannot be negative, nor a loss, and each row counts
once. A sum that breaks such a rule ends the run; whose fault it is, a sum cannot say. What keeps within the rules goes
unnoticed (docs/threat-model.md).
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from flower_pansvm.cutting_planes.cuts import LARGEST_JITTER
from flower_pansvm.cutting_planes.problem import NO_FOLD
from flower_pansvm.errors import FederationError
from flower_pansvm.tasks.cutting_planes import CUTS, WARM_START, CutsAnswer
from flower_pansvm.tasks.landmarks import ASSIGN, BOX, LANDMARKS
from flower_pansvm.tasks.scaling import MOMENTS, ROWS
from flower_pansvm.tasks.scoring import SCORES
from flower_pansvm.tasks.selection import CLASS_MOMENTS, SUPPORT
from flower_pansvm.tasks.task import Task
from strategies.federation.opened import ROUNDING, Numbers, Opened
from strategies.master.curvature import curvature_diagonal, curvature_size
from strategies.steps.packing import unpack_answers

CURVATURE_ROUNDING = 1e-4
"""The same of a curvature, which the sites sum in single precision; relative to its largest number."""

Problems = Iterator[str]


def check_sum(opened: Opened, site: str = "") -> None:
    """Check that a sum can be.

    Parameters
    ----------
    opened : Opened
        The sum.
    site : str
        The site, where what one site has contributed can be seen.

    Raises
    ------
    FederationError
        If it cannot. The text says which result of which task, and why.
    """
    for problem in _problems(opened):
        if site:
            raise FederationError(
                f"What site '{site}' contributed to task '{opened.task.name}' cannot be: {problem}. It runs another "
                "version of flower-pansvm, or a changed one, or its rows have changed during the run."
            )
        raise FederationError(
            f"The sum of task '{opened.task.name}' over {len(opened.sites)} sites cannot be: {problem}. What one site "
            "contributed is wrong: it runs another version of flower-pansvm, or a changed one, or its rows have "
            "changed during the run. A sum does not say which; runs without one hospital at a time do."
        )


def _problems(opened: Opened) -> Problems:
    """Yield why the sum cannot be; the checks after the first problem may rely on it not being there."""
    for name, values in opened.sums.items():
        if not np.isfinite(values).all():
            yield f"'{name}' holds something that is not a finite number"
        bound = opened.bounds[name]
        if math.isfinite(bound) and np.abs(values).max(initial=0.0) > (
            len(opened.sites) * bound * (1 + ROUNDING) + opened.slack.get(name, 0.0)
        ):
            yield f"'{name}' is larger than the bounds of all sites allow"
    if opened.task in CHECKS:
        yield from CHECKS[opened.task](opened)


def _moments(opened: Opened) -> Problems:
    folds, cells = opened.sums["rows"].shape[:1], opened.sums["count"].shape
    yield from opened.misshapen(rows=(-1, -1), test_rows=(1,), count=(*folds, -1), total=cells, square=cells)
    for name in ("rows", "test_rows", "count"):
        if opened.broken(name):
            yield f"'{name}' holds a number of rows or cells that is negative or not whole"
    if (opened.sums["count"] > opened.sums["rows"].sum(axis=1, keepdims=True)).any():
        yield "'count' has more cells of a column than there are rows"
    yield from _squares(opened)


def _rows(opened: Opened) -> Problems:
    yield from opened.misshapen(rows=(-1 if opened.rows is None else len(opened.rows.train), opened.classes))
    if opened.broken("rows"):
        yield "'rows' holds a number of rows that is negative or not whole"
    if opened.rows is not None and (opened.sums["rows"] > opened.rows.train).any():
        yield "there are more rows than before sites were lost"


def _squares(opened: Opened) -> Problems:
    """Yield what cannot be of numbers, sums and sums of squares of the same cells: their variance is not negative."""
    count, total, square = (opened.sums[name] for name in ("count", "total", "square"))
    count = count[..., None] if count.ndim < total.ndim else count
    if opened.negative("square"):
        yield "'square' holds a sum of squares that is negative"
    off = opened.off("count") * np.abs(square) + opened.off("square") * count
    off += 2 * opened.off("total") * np.abs(total)
    if (np.square(total) > count * square * (1 + ROUNDING) + off).any():
        yield "'total' holds a sum too large for its number of cells and sum of squares"


def _class_moments(opened: Opened) -> Problems:
    yield from opened.misshapen(**dict.fromkeys(CLASS_MOMENTS.summed, (opened.classes, opened.columns)))
    if opened.broken("count"):
        yield "'count' holds a number of cells that is negative or not whole"
    if opened.rows is not None and (opened.sums["count"] > opened.rows.train.sum(axis=0)[:, None]).any():
        yield "'count' has more cells of a column than there are rows of a class"
    yield from _squares(opened)


def _support(opened: Opened) -> Problems:
    weights = opened.sums["weights"].shape
    cells = (len(opened.question.rank), 2, weights[-1] if weights else -1)
    yield from opened.misshapen(weights=(cells[0], -1), count=cells[:2], total=cells, square=cells)
    if opened.negative("count"):
        yield "'count' holds a number of support vectors that is negative"
    if opened.rows is not None and opened.exceeds("count", LARGEST_JITTER * opened.rows.train.sum()):
        yield "'count' has more support vectors than there are rows"
    yield from _squares(opened)


def _landmarks(opened: Opened) -> Problems:
    filled, slots = opened.sums["filled"], opened.question.slots_per_site * opened.roster_size
    cells = (len(opened.question.folds), slots, opened.columns)
    yield from opened.misshapen(centres=cells, filled=cells[:2])
    if opened.broken("filled") or (filled > 1).any():
        yield "'filled' holds something else than a 0 or a 1 for each slot"
    largest = np.where(filled[..., None] > 0.5, opened.bounds["centres"], 0.0)
    if (np.abs(opened.sums["centres"]) > largest * (1 + ROUNDING) + opened.off("centres")).any():
        yield "'centres' has a landmark in a slot that is not filled, or one further out than any row"


def _assign(opened: Opened) -> Problems:
    yield from opened.misshapen(totals=opened.question.centres.shape, weights=opened.question.centres.shape)
    if opened.negative("weights"):
        yield "'weights' holds a weight that is negative"
    if opened.rows is not None:
        weights, most = opened.sums["weights"].sum(axis=1), LARGEST_JITTER * opened.rows.train.sum()
        if (weights > most * (1 + ROUNDING) + opened.sums["weights"].shape[1] * opened.off("weights")).any():
            yield "'weights' has more weight than all rows"


def _box(opened: Opened) -> Problems:
    steps = (len(opened.question.folds), opened.columns, len(opened.question.steps))
    yield from opened.misshapen(below=steps, above=steps)
    for name in ("below", "above"):
        sites = opened.sums[name]
        if opened.broken(name) or (sites > len(opened.sites)).any() or (np.diff(sites, axis=-1) > 0).any():
            yield f"'{name}' holds numbers of sites that are not whole, too large, or grow with the distance"


def _warm_start(opened: Opened) -> Problems:
    rank = opened.question.rank
    yield from opened.misshapen(weights=(int((rank + 1).sum()),), rows=(len(rank),))
    if opened.negative("rows"):
        yield "'rows' holds a number of rows that is negative"
    if opened.exceeds("rows", opened.question.problem_rows):
        yield "'rows' has more rows than the problem"


def _cuts(opened: Opened) -> Problems:
    """Yield what cannot be of cutting planes: any c in [0, 1] for each row gives one that is nowhere above the loss."""
    questions, rank, count = opened.question.questions(), opened.question.rank, opened.question.count
    points, pairs = (int(count.sum()),), zip(rank, opened.question.leading, strict=True)
    curvature = sum(curvature_size(int(one), int(leading)) for one, leading in pairs)
    yield from opened.misshapen(
        a=(int((count * rank).sum()),), d=points, m=points, loss=points, curvature=(curvature,)
    )
    for name in ("m", "loss"):
        if opened.negative(name):
            yield f"'{name}' is negative"
    if (
        opened.exceeds("d", opened.sums["m"], "m")
        or (-opened.sums["d"] > opened.sums["m"] * (1 + ROUNDING) + opened.off("d", "m")).any()
    ):
        yield "'d' is larger than 'm'"
    if opened.exceeds("m", np.repeat(opened.question.problem_rows, opened.question.count)):
        yield "'m' has more rows than the problem"
    answers = unpack_answers(CutsAnswer(**opened.sums), questions)
    for question, answer in zip(questions, answers, strict=True):
        cuts, (w, b) = answer.cuts, (question.points[:, :-1], question.points[:, -1:])
        planes = cuts.m - w @ cuts.a.T - b * cuts.d
        size = cuts.m + np.abs(w) @ np.abs(cuts.a.T) + np.abs(b * cuts.d)
        off = opened.off("m", "loss") + np.abs(w).sum(axis=1, keepdims=True) * opened.off("a")
        if (planes > cuts.loss[:, None] + ROUNDING * size + off + np.abs(b) * opened.off("d")).any():
            yield "'loss' is below a cutting plane, none of which can be above it"
        if question.leading >= 0:
            steep = curvature_diagonal(answer.curvature, question.leading)
            if (steep < -opened.off("curvature") - CURVATURE_ROUNDING * np.abs(steep).max()).any():
                yield "'curvature' is negative in a direction, and the loss is convex"


def _scores(opened: Opened) -> Problems:
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
    counts: Numbers, expected: Numbers | float, opened: Opened, sites_then: tuple[str, ...]
) -> bool:
    """Tell whether counts are not what was counted before, or more than that if it was over other sites."""
    wrong = counts != expected if opened.sites == sites_then else counts > expected
    return bool(wrong.any())


CHECKS: Mapping[Task[Any, Any], Callable[[Opened], Problems]] = {
    MOMENTS: _moments,
    ROWS: _rows,
    LANDMARKS: _landmarks,
    ASSIGN: _assign,
    BOX: _box,
    WARM_START: _warm_start,
    CUTS: _cuts,
    SCORES: _scores,
    CLASS_MOMENTS: _class_moments,
    SUPPORT: _support,
}
"""What is checked of the results of each task, besides that they are finite and within the bounds."""
