"""Models tried on the site's held-out rows."""

import numpy as np

from clients.gate.answering import answers
from clients.gate.requests import check_size
from clients.site import Site
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.counts import BINS, confusion_counts, decision_histogram, winners
from flower_pansvm.cutting_planes.cuts import blocks
from flower_pansvm.cutting_planes.problem import NO_FOLD
from flower_pansvm.multiclass import Pair, class_decisions
from flower_pansvm.tasks.scoring import SCORES, ScoresAnswer, ScoresQuestion


@answers(SCORES)
def scores(site: Site, question: ScoresQuestion) -> ScoresAnswer:
    """Count rows that a model has not been trained on, by class, predicted class and decision value."""
    classes = len(site.schema().classes)
    pairs = tuple(map(Pair, question.positive, question.negative))
    columns, models = question.centres.shape[1], len(question.folds)
    check_size(site, float(models) * (classes**2 + 2 * BINS * columns))
    confusion, histogram = np.zeros((models, classes, classes)), np.zeros((models, columns, 2, BINS))
    weights = np.split(question.weights, np.cumsum(len(pairs) * (question.ranks + 1))[:-1])
    for model, (number, fold) in enumerate(zip(question.feature_maps, question.folds, strict=True)):
        points = weights[model].reshape(len(pairs), -1)
        true, binary = _decisions(site, int(number), int(fold), points)
        decisions = class_decisions(binary, pairs, classes)
        confusion[model] = confusion_counts(true, winners(decisions), classes)
        for column in range(columns):
            centre, scale = question.centres[model, column], question.scales[model, column]
            # The one column of two classes is that of class 1.
            positive = true == (column if classes > 2 else 1)
            histogram[model, column] = decision_histogram(decisions[:, column], positive, centre, scale)
    return ScoresAnswer(confusion, histogram)


def _decisions(site: Site, number: int, fold: int, points: Floats) -> tuple[Ints, Floats]:
    """Return class and binary decision values of the rows of a fold, or of the test rows."""
    w, b = points[:, :-1], points[:, -1]
    if fold == NO_FOLD:
        rows = site.test()
        parts = [site.mapped(rows.X[block], number) @ w.T + b for block in blocks(len(rows.X))]
        return rows.classes, np.vstack([np.empty((0, len(points))), *parts])
    chosen = np.flatnonzero(site.folds() == fold)
    mapped = site.mapped_train(number)
    parts = [mapped(chosen[block]) @ w.T + b for block in blocks(len(chosen))]
    return site.train().classes[chosen], np.vstack([np.empty((0, len(points))), *parts])
