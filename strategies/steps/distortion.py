"""Distortion: the columns that most sites vote for, and the distorted rows that they publish."""

from dataclasses import dataclass
from logging import INFO

import numpy as np
from flwr.common.logger import log
from numpy.typing import NDArray

from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.schema import Schema
from flower_pansvm.tasks.distortion import (
    COLUMN_VOTES,
    DISTORTED_ROWS,
    DistortedRowsAnswer,
    DistortedRowsQuestion,
)
from flower_pansvm.tasks.task import Nothing
from strategies.federation.federation import Federation
from strategies.steps.site_differences import share_differences, tell


@dataclass(frozen=True)
class PublishedRows:
    """Distorted rows of all sites.

    Parameters
    ----------
    X : ndarray of shape (rows, columns)
        Their cells.
    classes : ndarray of shape (rows,)
        Class index of each.
    """

    X: NDArray[np.float64]
    classes: NDArray[np.int64]


def vote_on_columns(federation: Federation, schema: Schema) -> NDArray[np.bool_]:
    """Return the columns that more than half of the sites vote for, shape (columns,).

    Raises
    ------
    SettingError
        If there is none.
    FederationError
        If what came back are no votes.
    """
    votes, sites = federation.secure_sum(COLUMN_VOTES, Nothing()).votes, len(federation.sites)
    whole = votes == np.rint(votes)
    if votes.shape != (len(schema.columns),) or not (whole & (votes >= 0) & (votes <= sites)).all():
        raise FederationError(
            "The sites' votes are not a whole number for each column. One of the sites runs another version of "
            "flower-pansvm, or a changed one."
        )
    chosen: NDArray[np.bool_] = votes > sites / 2
    if not chosen.any():
        raise SettingError(
            f"No column has the votes of more than half of the {sites} sites, {votes.max():.0f} at the most. A site "
            "votes for no column if all its rows are of one class, or few. Start the run with ssvd-order=perturb-first, "
            "which selects among the published rows of all sites."
        )
    log(INFO, "%d of %d columns have the votes of most sites", chosen.sum(), len(chosen))
    return chosen


def gather_rows(
    federation: Federation, schema: Schema, columns: NDArray[np.bool_], *, test: bool
) -> tuple[PublishedRows, PublishedRows]:
    """Return the distorted training and test rows of all sites, one site after the other.

    Parameters
    ----------
    federation : Federation
        The sites.
    schema : Schema
        The common columns and classes.
    columns : ndarray of shape (columns,)
        Which of the columns are distorted.
    test : bool
        Whether the test rows are published as well; else there is none.

    Raises
    ------
    FederationError
        If what a site has published is no table of these columns with a class for each row.
    SettingError
        If a class has no training row.
    """
    answers = federation.collect(DISTORTED_ROWS, DistortedRowsQuestion(columns, int(test)))
    own = {name: answers[site.node_id] for name, site in federation.sites.items()}
    for name, answer in own.items():
        if not _fits(answer, int(columns.sum()), len(schema.classes)):
            raise FederationError(
                f"What site '{name}' published as its distorted rows is no table of {columns.sum()} columns of numbers "
                "with a class for each row. It runs another version of flower-pansvm, or a changed one."
            )
    counts = {
        name: np.bincount(one.classes, minlength=len(schema.classes)).astype(float)
        for name, one in own.items()
    }
    tell(federation, share_differences(schema.classes, counts))
    X = np.concatenate([answer.rows for answer in own.values()])
    classes = np.concatenate([answer.classes for answer in own.values()])
    kept = np.concatenate([answer.test for answer in own.values()])
    missing = np.setdiff1d(np.arange(len(schema.classes)), classes[~kept])
    if len(missing):
        raise SettingError(
            f"No site has published a training row of the class '{schema.classes[missing[0]]}'. Lower test-fraction, "
            "or merge rare classes with the setting 'positive'."
        )
    return PublishedRows(X[~kept], classes[~kept]), PublishedRows(X[kept], classes[kept])


def _fits(answer: DistortedRowsAnswer, columns: int, classes: int) -> bool:
    rows = len(answer.classes)
    shapes = answer.rows.shape == (rows, columns) and answer.classes.shape == answer.test.shape == (rows,)
    known = ((answer.classes >= 0) & (answer.classes < classes)).all()
    return bool(shapes and known and np.isfinite(answer.rows).all())
