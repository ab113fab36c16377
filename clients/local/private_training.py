"""Private training: sums in which no row has a part larger than 1, whatever is asked. The gate adds the noise."""

from collections.abc import Iterator

import numpy as np

from clients.gate.answering import answers
from clients.gate.lasting_split import lasting_split
from clients.gate.requests import check_size
from clients.rows import Rows
from clients.site import Site
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.counts import winners
from flower_pansvm.cutting_planes.cuts import blocks
from flower_pansvm.errors import NOT_FOLLOWED, SettingError
from flower_pansvm.fourier_map import BINS, bins, places
from flower_pansvm.multiclass import positive_classes
from flower_pansvm.privacy.clipping import clipped
from flower_pansvm.tasks.private_training import (
    PRIVATE_BINS,
    PRIVATE_MAP,
    PRIVATE_MOMENTS,
    PRIVATE_SCORES,
    PRIVATE_STEP,
    RANGES,
    BinsAnswer,
    BinsQuestion,
    PrivateMomentsAnswer,
    PrivateMomentsQuestion,
    PrivateScoresAnswer,
    PrivateStepAnswer,
    PrivateWeightsQuestion,
)
from flower_pansvm.tasks.scaling import ExtremesAnswer
from flower_pansvm.tasks.task import Nothing


@answers(RANGES)
def ranges(site: Site, question: Nothing) -> ExtremesAnswer:  # noqa: ARG001
    """Disclose the ends of a simulated site's columns."""
    X = np.vstack([part.X for part in lasting_split(site)])
    low, high = np.where(np.isnan(X), np.inf, X), np.where(np.isnan(X), -np.inf, X)
    return ExtremesAnswer(
        low.min(axis=0, initial=np.inf, keepdims=True), high.max(axis=0, initial=-np.inf, keepdims=True)
    )


@answers(PRIVATE_BINS)
def private_bins(site: Site, question: BinsQuestion) -> BinsAnswer:
    """Count the training rows, and the cells of each column by bin."""
    X = lasting_split(site)[0].X
    if not question.low.shape == question.high.shape == X.shape[1:]:
        raise SettingError(f"A range was not given for each column of site '{site.name}'. {NOT_FOLLOWED}")
    inside = places(X, question.low, question.high)
    found, there = bins(inside), ~np.isnan(X)
    cells = [np.bincount(found[there[:, j], j], minlength=BINS) for j in range(X.shape[1])]
    return BinsAnswer(np.array([float(len(X))]), np.array(cells, dtype=np.float64).reshape(-1, BINS))


@answers(PRIVATE_MOMENTS)
def private_moments(site: Site, question: PrivateMomentsQuestion) -> PrivateMomentsAnswer:  # noqa: ARG001
    """Add up z z' and z y' of the training rows."""
    rows, size = lasting_split(site)[0], site.told(PRIVATE_MAP).size
    check_size(site, float(size) ** 2)
    squares, products = np.zeros((size, size)), np.zeros((size, len(_columns(site))))
    for z, classes in _mapped(site, rows):
        sides = _sides(site, classes)
        squares += z.T @ z
        products += z.T @ (sides if sides.shape[1] == 1 else np.maximum(sides, 0.0))
    return PrivateMomentsAnswer(np.diag(squares), squares[np.triu_indices(size, 1)], products)


@answers(PRIVATE_STEP)
def private_step(site: Site, question: PrivateWeightsQuestion) -> PrivateStepAnswer:
    """Add up the slopes of the training rows' losses."""
    rows = lasting_split(site)[0]
    weights = _weights(site, question.weights)
    slope = np.zeros(weights.shape)
    for z, classes in _mapped(site, rows):
        sides = _sides(site, classes)
        with np.errstate(all="ignore"):
            slopes = sides * np.clip(1 - sides * (z @ weights), 0.0, 1.0)
        slope += z.T @ clipped(slopes)
    return PrivateStepAnswer(slope)


@answers(PRIVATE_SCORES)
def private_scores(site: Site, question: PrivateWeightsQuestion) -> PrivateScoresAnswer:
    """Count the test rows by class and by what a model says of them."""
    rows, classes = lasting_split(site)[1], len(site.schema().classes)
    weights, cells = _weights(site, question.weights), np.zeros((classes, 2))
    for z, true in _mapped(site, rows):
        with np.errstate(all="ignore"):
            said = winners(z @ weights)
        np.add.at(cells, (true, said if classes == 2 else (said == true).astype(np.int64)), 1.0)
    return PrivateScoresAnswer(cells)


def _mapped(site: Site, rows: Rows) -> Iterator[tuple[Floats, Ints]]:
    """Yield features and classes of rows, a block at a time."""
    feature_map = site.told(PRIVATE_MAP)
    if not feature_map.fits(rows.X.shape[1]):
        raise _misfit(site)
    for block in blocks(len(rows.X)):
        yield feature_map.transform(rows.X[block]), rows.classes[block]


def _columns(site: Site) -> tuple[int, ...]:
    """Return the class that each column of weights is about."""
    return positive_classes(len(site.schema().classes))


def _sides(site: Site, classes: Ints) -> Floats:
    """Return for rows and columns of weights 1 where the row is of the column's class, -1 where it is of another."""
    return np.where(classes[:, None] == _columns(site), 1.0, -1.0)


def _weights(site: Site, weights: Floats) -> Floats:
    """Return weights of the shape that the map and the classes ask for."""
    if weights.shape != (site.told(PRIVATE_MAP).size, len(_columns(site))):
        raise _misfit(site)
    return weights


def _misfit(site: Site) -> SettingError:
    return SettingError(
        f"Site '{site.name}' was told a feature map or weights that do not fit its columns and classes. {NOT_FOLLOWED}"
    )
