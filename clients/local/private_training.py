"""Private training: sums in which no row has a part larger than 1, whatever is asked. The gate adds the noise."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from clients.gate.answering import answers
from clients.gate.lasting_split import lasting_split
from clients.gate.requests import check_size
from clients.gate.terms import is_simulated
from clients.rows import Rows
from clients.site import Site
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from flower_pansvm.fourier_map import BINS, bins, places
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

BLOCK = 4096
"""Rows that are mapped at a time."""


@answers(RANGES)
def ranges(site: Site, question: Nothing) -> ExtremesAnswer:  # noqa: ARG001
    """Disclose the ends of a simulated site's columns."""
    if not is_simulated(site.context):
        raise SettingError(
            f"Site '{site.name}' does not disclose the ends of its columns: with ranges=table only simulated sites "
            "take part. Write the columns' public ends into a file, and name it as 'ranges' in the run's settings."
        )
    X = np.vstack([part.X for part in lasting_split(site)])
    low, high = np.where(np.isnan(X), np.inf, X), np.where(np.isnan(X), -np.inf, X)
    return ExtremesAnswer(
        low.min(axis=0, initial=np.inf, keepdims=True), high.max(axis=0, initial=-np.inf, keepdims=True)
    )


@answers(PRIVATE_BINS)
def private_bins(site: Site, question: BinsQuestion) -> BinsAnswer:
    """Count the training rows, and the cells of each column by bin."""
    X = lasting_split(site)[0].X
    inside = places(X, _numbers(question.low, X.shape[1:]), _numbers(question.high, X.shape[1:]))
    found, there = bins(inside), ~np.isnan(X)
    cells = [np.bincount(found[there[:, j], j], minlength=BINS) for j in range(X.shape[1])]
    return BinsAnswer(np.array([float(len(X))]), np.array(cells, dtype=np.float64).reshape(-1, BINS))


@answers(PRIVATE_MOMENTS)
def private_moments(site: Site, question: PrivateMomentsQuestion) -> PrivateMomentsAnswer:  # noqa: ARG001
    """Add up z z' and z y' of the training rows."""
    rows, size = lasting_split(site)[0], site.told(PRIVATE_MAP).size
    check_size(site, float(size) ** 2)
    squares, products = np.zeros((size, size)), np.zeros((size, _targets(site, rows.classes[:0]).shape[1]))
    for z, classes in _mapped(site, rows):
        squares += z.T @ z
        products += z.T @ _targets(site, classes)
    return PrivateMomentsAnswer(np.diag(squares), squares[np.triu_indices(size, 1)], products)


@answers(PRIVATE_STEP)
def private_step(site: Site, question: PrivateWeightsQuestion) -> PrivateStepAnswer:
    """Add up the slopes of the training rows' losses."""
    rows = lasting_split(site)[0]
    weights = _weights(site, question.weights)
    slope = np.zeros(weights.shape)
    for z, classes in _mapped(site, rows):
        # One versus all: -1 where a row is of another class.
        sides = 2 * _targets(site, classes) - 1 if weights.shape[1] > 1 else _targets(site, classes)
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
            decisions = z @ weights
        said = decisions[:, 0] > 0 if classes == 2 else np.argmax(decisions, axis=1) == true
        np.add.at(cells, (true, said.astype(np.int64)), 1.0)
    return PrivateScoresAnswer(cells)


def _mapped(site: Site, rows: Rows) -> Iterator[tuple[Floats, NDArray[np.int64]]]:
    """Yield features and classes of rows, a block at a time."""
    feature_map = site.told(PRIVATE_MAP)
    if not feature_map.fits(rows.X.shape[1]):
        raise _misfit(site)
    for start in range(0, len(rows.X), BLOCK):
        block = slice(start, start + BLOCK)
        yield feature_map.transform(rows.X[block]), rows.classes[block]


def _targets(site: Site, classes: NDArray[np.int64]) -> Floats:
    """Return y of rows, shape (rows, 1) with two classes, else (rows, classes)."""
    count = len(site.schema().classes)
    if count == 2:
        return np.where(classes == 1, 1.0, -1.0)[:, None]
    each: Floats = np.eye(count)[classes]
    return each


def _weights(site: Site, weights: Floats) -> Floats:
    """Return weights of the shape that the map and the classes ask for."""
    count = len(site.schema().classes)
    if weights.shape != (site.told(PRIVATE_MAP).size, 1 if count == 2 else count):
        raise _misfit(site)
    return weights


def _numbers(values: Floats, shape: tuple[int, ...]) -> Floats:
    if values.shape != shape:
        raise SettingError(
            "A range was not given for each column. Does the coordinator run the same version?"
        )
    return values


def _misfit(site: Site) -> SettingError:
    return SettingError(
        f"Site '{site.name}' was told a feature map or weights that do not fit its columns and classes. Does the "
        "coordinator run the same version? If so, it does not follow the protocol."
    )
