"""What a site's rows add up to, fold by fold."""

import secrets

import numpy as np

from clients.gate.answering import answers
from clients.gate.seeds import SLOTS, deal_seed
from clients.gate.terms import agreed_terms
from clients.site import Site
from flower_pansvm import scaling
from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.cutting_planes.problem import NO_FOLD
from flower_pansvm.errors import NOT_FOLLOWED, SettingError
from flower_pansvm.tasks import scaling as tasks
from flower_pansvm.tasks.task import Nothing


@answers(tasks.MOMENTS)
def moments(site: Site, question: Nothing) -> tasks.MomentsAnswer:  # noqa: ARG001
    """Add to the federated mean and variance; the first site also deals out the seed of the landmark slots."""
    if site.participation is not None:
        deal_seed(site, SLOTS, secrets.token_bytes(32), site.participation.this.roster)
    X = site.train().X
    by_fold = [scaling.moments(X[rows]) for rows in _folds(site)]
    return tasks.MomentsAnswer(
        rows=_class_rows(site),
        test_rows=np.array([float(len(site.test().classes))]),
        **{part: np.stack([fold[part] for fold in by_fold]) for part in ("count", "total", "square")},
    )


@answers(tasks.ROWS)
def rows(site: Site, question: Nothing) -> tasks.RowsAnswer:  # noqa: ARG001
    """Count the site's training rows by fold and class."""
    return tasks.RowsAnswer(_class_rows(site))


@answers(tasks.EXTREMES)
def extremes(site: Site, question: Nothing) -> tasks.ExtremesAnswer:  # noqa: ARG001
    """Disclose the smallest and largest cell of each feature in each fold; infinite where all cells are missing."""
    if agreed_terms(site.context).scaling != "minmax":
        raise SettingError(
            f"Site '{site.name}' does not disclose the extremes of its columns: the run's scaling does not need them. "
            f"{NOT_FOLLOWED}"
        )
    X = site.train().X
    low, high = np.where(np.isnan(X), np.inf, X), np.where(np.isnan(X), -np.inf, X)
    return tasks.ExtremesAnswer(
        low=np.stack([low[rows].min(axis=0, initial=np.inf) for rows in _folds(site)]),
        high=np.stack([high[rows].max(axis=0, initial=-np.inf) for rows in _folds(site)]),
    )


def _folds(site: Site) -> list[Bools]:
    """Return which training rows are in each fold; all of them in the one fold of a run without folds."""
    numbers = site.folds()
    return [numbers == fold for fold in range(numbers.max(initial=NO_FOLD) + 1)] or [numbers == NO_FOLD]


def _class_rows(site: Site) -> Floats:
    """Return the number of training rows by fold and class, shape (folds, classes)."""
    classes, count = site.train().classes, len(site.schema().classes)
    return np.stack([np.bincount(classes[rows], minlength=count) for rows in _folds(site)]).astype(np.float64)
