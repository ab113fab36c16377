"""What cannot be of cutting planes, nor of the models that the search starts from."""

import numpy as np

from flower_pansvm.systems.pan_svm.tasks import CUTS, WARM_START, CutsAnswer
from strategies.master.search import curvature_diagonal, curvature_size
from strategies.plausible.check import CHECKS, Problems
from strategies.plausible.opened import ROUNDING, Opened
from strategies.steps.packing import unpack_answers

CURVATURE_ROUNDING = 1e-4
"""As `ROUNDING`, of a curvature, which the sites sum in single precision; relative to its largest number."""


@CHECKS.register(WARM_START.name)
def warm_start(opened: Opened) -> Problems:
    """Yield what cannot be of weights that sites have found alone, and of the rows that they are from."""
    rank = opened.question.rank
    yield from opened.misshapen(weights=(int((rank + 1).sum()),), rows=(len(rank),))
    if opened.negative("rows"):
        yield "'rows' holds a number of rows that is negative"
    if opened.exceeds("rows", opened.question.problem_rows):
        yield "'rows' has more rows than the problem"


@CHECKS.register(CUTS.name)
def cuts(opened: Opened) -> Problems:
    """Yield what cannot be of cutting planes: any c in [0, 1] for each row gives one that is nowhere above the loss."""
    questions, rank = opened.question.questions(), opened.question.rank
    count = np.array([question.count for question in questions])
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
    if opened.exceeds("m", np.repeat(opened.question.problem_rows, count)):
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
            if (steep < -CURVATURE_ROUNDING * np.abs(steep).max()).any():
                yield "'curvature' is negative in a direction, and the loss is convex"
