"""Scaling: sums over a site's columns, and the scalings that the coordinator has broadcast."""

import secrets

import numpy as np

from clients.folds import folds_of
from clients.patients import count_patients
from clients.seeds import SLOTS, distribute_seed
from clients.site import LARGEST_BROADCAST, Site
from clients.systems import answers
from flower_pansvm import scaling
from flower_pansvm.arrays import Bools, Floats, blocks
from flower_pansvm.errors import NOT_FOLLOWED, FederationError, SettingError, TableError
from flower_pansvm.scaling import Scaling
from flower_pansvm.systems import scaling as tasks
from flower_pansvm.systems.scaling import NO_FOLD
from flower_pansvm.tasks import Nothing


@answers(tasks.MOMENTS)
def moments(site: Site, question: Nothing) -> tasks.MomentsAnswer:  # noqa: ARG001
    """Add to the federated mean and variance; the first site also distributes the seed of the landmark slots."""
    if site.participation is not None:
        distribute_seed(site, SLOTS, secrets.token_bytes(32), site.participation.sum_round.roster)
    X, masks = site.train().X, _by_fold(site)
    sums = {name: np.zeros((len(masks), X.shape[1])) for name in ("count", "total", "square")}
    for block in blocks(len(X)):
        for fold, rows in enumerate(masks):
            for name, values in scaling.moments(X[block][rows[block]]).items():
                sums[name][fold] += values
    if not (sums["square"] < 2.0**120).all():  # what a sum of unknown size can hold
        raise TableError(
            f"Site '{site.name}' has a column of numbers that are too large: no sum holds their squares. Check it "
            "for outliers and units."
        )
    test_rows = np.array([float(len(site.test().classes))])
    patients = np.array([float(count_patients(rows.patients)) for rows in (site.train(), site.test())])
    return tasks.MomentsAnswer(_class_rows(site), test_rows, patients, **sums)


@answers(tasks.ROWS)
def rows(site: Site, question: Nothing) -> tasks.RowsAnswer:  # noqa: ARG001
    """Count the site's training rows by fold and class."""
    return tasks.RowsAnswer(_class_rows(site))


@answers(tasks.EXTREMES)
def extremes(site: Site, question: Nothing) -> tasks.ExtremesAnswer:  # noqa: ARG001
    """Disclose the smallest and largest cell of each feature in each fold; infinite where all cells are missing."""
    if site.terms.scaling != "minmax":
        raise SettingError(
            f"Site '{site.name}' does not disclose the extremes of its columns: the run's scaling does not need them. "
            f"{NOT_FOLLOWED}"
        )
    X, masks = site.train().X, _by_fold(site)
    low, high = np.full((2, len(masks), X.shape[1]), [[[np.inf]], [[-np.inf]]])
    for block in blocks(len(X)):
        for fold, rows in enumerate(masks):
            cells = X[block][rows[block]]
            # Unlike min and max, these pass over missing cells.
            low[fold] = np.fmin(low[fold], np.fmin.reduce(cells, axis=0, initial=np.inf))
            high[fold] = np.fmax(high[fold], np.fmax.reduce(cells, axis=0, initial=-np.inf))
    return tasks.ExtremesAnswer(low, high)


@answers(tasks.RANGES)
def ranges(site: Site, question: Nothing) -> tasks.ExtremesAnswer:  # noqa: ARG001
    """Disclose the ends of a simulated site's columns."""
    X = np.vstack([rows.X for rows in (site.train(), site.test())])
    low, high = np.where(np.isnan(X), np.inf, X), np.where(np.isnan(X), -np.inf, X)
    return tasks.ExtremesAnswer(
        low.min(axis=0, initial=np.inf, keepdims=True), high.max(axis=0, initial=-np.inf, keepdims=True)
    )


def scaled(site: Site, X: Floats, index: int = 0) -> Floats:
    """Return rows filled and scaled by one of the scalings, shape (rows, features)."""
    return scaling_of(site, index).transform(X)


def scaling_of(site: Site, index: int) -> Scaling:
    """Return one of the scalings; FederationError if it does not fit the site's columns."""
    sent = site.get_broadcast(tasks.SCALING)
    sizes = {(len(sent.fill), len(site.schema().columns))}
    fits = {sent.fill.shape, sent.shift.shape, sent.scale.shape} == sizes and 0 <= index < len(sent.fill)
    check_fits(site, fits and bool((sent.scale > 1 / LARGEST_BROADCAST).all()), "scalings")
    return Scaling(sent.fill[index], sent.shift[index], sent.scale[index])


def check_fits(site: Site, fits: bool, parts: str) -> None:
    """Check that broadcast ``parts`` fit the run; FederationError if not."""
    if not fits:
        raise FederationError(
            f"Site '{site.name}' received {parts} that are invalid or do not fit its columns. {NOT_FOLLOWED}"
        )


def _by_fold(site: Site) -> list[Bools]:
    """Return the mask of the training rows in each fold; all of them in the one fold of a run without folds."""
    numbers = folds_of(site)
    return [numbers == fold for fold in range(numbers.max(initial=NO_FOLD) + 1)] or [numbers == NO_FOLD]


def _class_rows(site: Site) -> Floats:
    """Return the number of training rows by fold and class, shape (folds, classes)."""
    classes, count = site.train().classes, len(site.schema().classes)
    counts = [np.bincount(classes[rows], minlength=count) for rows in _by_fold(site)]
    return np.array(counts, dtype=np.float64)
