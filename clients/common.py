"""The local work that every strategy begins and ends with: join, moments, extremes, scores."""

import numpy as np
from numpy.typing import NDArray

from clients.answering import Inputs, answers
from clients.classes import disclosed_classes
from clients.membership import join_run
from clients.secret import SECRET, secret_of
from clients.site import Site
from clients.sizes import check_size
from clients.slots import deal_seed
from clients.terms import check_extremes_agreed
from flower_pansvm import messages, scaling
from flower_pansvm.cutting_planes.cuts import blocks
from flower_pansvm.cutting_planes.problem import NO_FOLD
from flower_pansvm.metrics import BINS, confusion_counts, decision_histogram, winners
from flower_pansvm.multiclass import Pair, class_decisions
from flower_pansvm.records import Value, texts


@answers(messages.JOIN)
def join(site: Site, inputs: Inputs) -> dict[str, Value]:
    """Read the table, make the keys of this run, and say what the columns and classes are called."""
    classes = disclosed_classes(site.context, site.labels(), list(map(str, inputs["positive_labels"])))
    keys = join_run(site.context)
    site.keep(SECRET, secret_of(site))
    return {
        "name": site.name,
        **keys,
        "columns": texts(site.table().columns),
        "absent_is_zero": site.table().absent_is_zero,
        "classes": classes,
    }


@answers(messages.MOMENTS)
def moments(site: Site, inputs: Inputs) -> dict[str, Value]:  # noqa: ARG001 - a task without inputs
    """Add to the federated mean and variance; the first site also deals out the seed of the landmark slots."""
    deal_seed(site)
    X = site.train().X
    by_fold = [scaling.moments(X[rows]) for rows in _folds(site)]
    return {
        "rows": _class_rows(site),
        "test_rows": np.array([float(len(site.test().classes))]),
        **{part: np.stack([fold[part] for fold in by_fold]) for part in ("count", "total", "square")},
    }


@answers(messages.ROWS)
def rows(site: Site, inputs: Inputs) -> dict[str, Value]:  # noqa: ARG001 - a task without inputs
    """Count the site's training rows by fold and class."""
    return {"rows": _class_rows(site)}


@answers(messages.EXTREMES)
def extremes(site: Site, inputs: Inputs) -> dict[str, Value]:  # noqa: ARG001 - a task without inputs
    """Disclose the smallest and largest cell of each feature in each fold; infinite where all cells are missing."""
    check_extremes_agreed(site.context)
    X = site.train().X
    low, high = np.where(np.isnan(X), np.inf, X), np.where(np.isnan(X), -np.inf, X)
    return {
        "low": np.stack([low[rows].min(axis=0, initial=np.inf) for rows in _folds(site)]),
        "high": np.stack([high[rows].max(axis=0, initial=-np.inf) for rows in _folds(site)]),
    }


@answers(messages.SCORES)
def scores(site: Site, inputs: Inputs) -> dict[str, Value]:
    """Count rows that a model has not been trained on, by class, predicted class and decision value."""
    classes = len(site.schema().classes)
    pairs = tuple(map(Pair, inputs["positive"], inputs["negative"]))
    columns, models = inputs["centres"].shape[1], len(inputs["folds"])
    check_size(site, float(models) * (classes**2 + 2 * BINS * columns))
    confusion, histogram = np.zeros((models, classes, classes)), np.zeros((models, columns, 2, BINS))
    weights = np.split(inputs["weights"], np.cumsum(len(pairs) * (inputs["ranks"] + 1))[:-1])
    for model, (number, fold) in enumerate(zip(inputs["feature_maps"], inputs["folds"], strict=True)):
        points = weights[model].reshape(len(pairs), -1)
        true, binary = _decisions(site, int(number), int(fold), points)
        decisions = class_decisions(binary, pairs, classes)
        confusion[model] = confusion_counts(true, winners(decisions), classes)
        for column in range(columns):
            centre, scale = inputs["centres"][model, column], inputs["scales"][model, column]
            # The one column of two classes is that of class 1.
            positive = true == (column if classes > 2 else 1)
            histogram[model, column] = decision_histogram(decisions[:, column], positive, centre, scale)
    return {"confusion": confusion, "histogram": histogram}


def _decisions(
    site: Site, number: int, fold: int, points: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
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


def _folds(site: Site) -> list[NDArray[np.bool_]]:
    """Return which training rows are in each fold; all of them in the one fold of a run without folds."""
    numbers = site.folds()
    return [numbers == fold for fold in range(numbers.max(initial=NO_FOLD) + 1)] or [numbers == NO_FOLD]


def _class_rows(site: Site) -> NDArray[np.float64]:
    """Return the number of training rows by fold and class, shape (folds, classes)."""
    classes, count = site.train().classes, len(site.schema().classes)
    return np.stack([np.bincount(classes[rows], minlength=count) for rows in _folds(site)]).astype(np.float64)
