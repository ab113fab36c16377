"""Private training: sums in which no row has a part larger than 1, whatever is asked. The gate adds the noise.

A row's part is a function of that row alone, bit for bit: all arithmetic here is exact
(:mod:`flower_pansvm.privacy.exact`), and a question with inexact numbers is refused.
"""

from collections.abc import Iterator

import numpy as np

from clients.rows import Rows
from clients.site import Site
from clients.systems import answers
from clients.tested import tested_answer
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.class_columns import positive_classes
from flower_pansvm.errors import NOT_FOLLOWED, SettingError
from flower_pansvm.fourier_map import BINS, FourierMap, bins, places
from flower_pansvm.privacy.exact import LARGEST_WEIGHT, STEP, WEIGHT_STEP, is_exact, row_blocks, shortened
from flower_pansvm.systems import dp_svm as tasks
from flower_pansvm.tested import TestedAnswer


@answers(tasks.PRIVATE_BINS)
def private_bins(site: Site, question: tasks.BinsQuestion) -> tasks.BinsAnswer:
    """Count the training rows, and the cells of each column by bin."""
    X = site.train().X
    columns = X.shape[1]
    if not (question.low.shape == question.high.shape == (columns,) and np.all(question.low < question.high)):
        raise SettingError(f"Site '{site.name}' needs a range for each of its columns. {NOT_FOLLOWED}")
    cells = np.zeros((columns, BINS))
    for block in row_blocks(len(X), columns):
        indices, present = bins(places(X[block], question.low, question.high)), ~np.isnan(X[block])
        for j in range(columns):
            cells[j] += np.bincount(indices[present[:, j], j], minlength=BINS)
    return tasks.BinsAnswer(np.array([float(len(X))]), cells)


@answers(tasks.PRIVATE_MOMENTS)
def private_moments(site: Site, question: tasks.PrivateMomentsQuestion) -> tasks.PrivateMomentsAnswer:  # noqa: ARG001
    """Add up z z' and z y' of the training rows."""
    rows = site.train()
    size = _map(site, rows).size
    squares, products = np.zeros((size, size)), np.zeros((size, len(_columns(site))))
    for z, classes in _mapped(site, rows):
        signs = _signs(site, classes)
        squares += z.T @ z
        products += z.T @ (signs if signs.shape[1] == 1 else np.maximum(signs, 0.0))
    return tasks.PrivateMomentsAnswer(np.diag(squares), squares[np.triu_indices(size, 1)], products)


@answers(tasks.PRIVATE_STEP)
def private_step(site: Site, question: tasks.PrivateWeightsQuestion) -> tasks.PrivateStepAnswer:
    """Add up the slopes of the training rows' losses."""
    rows = site.train()
    weights = _weights(site, rows, question.weights)
    slope = np.zeros(weights.shape)
    for z, classes in _mapped(site, rows):
        signs = _signs(site, classes)
        slopes = np.trunc(signs * np.clip(1 - signs * (z @ weights), 0.0, 1.0) / STEP) * STEP
        slope += z.T @ shortened(slopes, STEP, longest=1.0, least=1.0)
    return tasks.PrivateStepAnswer(slope)


@answers(tasks.PRIVATE_SCORES)
def private_scores(site: Site, question: tasks.PrivateScoresQuestion) -> TestedAnswer:
    """Count the test rows by class and by what a model says of them."""
    rows = site.test()
    weights = _weights(site, rows, question.weights)
    decisions = [np.empty((0, weights.shape[1])), *(z @ weights for z, _ in _mapped(site, rows))]
    return tested_answer(site, question, rows, np.concatenate(decisions))


def _mapped(site: Site, rows: Rows) -> Iterator[tuple[Floats, Ints]]:
    """Yield features and classes of rows, a block at a time."""
    feature_map = _map(site, rows)
    for block in row_blocks(len(rows.X), feature_map.size):
        yield feature_map.transform(rows.X[block]), rows.classes[block]


def _map(site: Site, rows: Rows) -> FourierMap:
    """Return the broadcast feature map, after checking it."""
    feature_map = site.get_broadcast(tasks.PRIVATE_MAP)
    if not feature_map.fits(rows.X.shape[1]):
        raise _misfit(site)
    return feature_map


def _columns(site: Site) -> tuple[int, ...]:
    """Return the class that each column of weights is about."""
    return positive_classes(len(site.schema().classes))


def _signs(site: Site, classes: Ints) -> Floats:
    """Return for rows and columns of weights 1 where the row is of the column's class, -1 where it is of another."""
    return np.where(classes[:, None] == _columns(site), 1.0, -1.0)


def _weights(site: Site, rows: Rows, weights: Floats) -> Floats:
    """Return weights after checking that they fit the map and the classes, and are exact."""
    shape = (_map(site, rows).size, len(_columns(site)))
    if weights.shape != shape or not is_exact(weights, WEIGHT_STEP, LARGEST_WEIGHT):
        raise _misfit(site)
    return weights


def _misfit(site: Site) -> SettingError:
    return SettingError(
        f"Site '{site.name}' received a feature map or weights that do not fit its columns and classes, or are not "
        f"within the bounds of exact arithmetic. {NOT_FOLLOWED}"
    )
