"""The local work of distortion: a vote on the columns by the site's own rows, and a distorted copy of the rows."""

import numpy as np

from clients.site import Site
from clients.systems import answers
from flower_pansvm import records
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import NOT_FOLLOWED, FederationError, TableError
from flower_pansvm.log import logger
from flower_pansvm.scaling import moments
from flower_pansvm.systems import ssvd as tasks
from flower_pansvm.systems.ssvd import distort, select
from flower_pansvm.tasks import Nothing

ROUNDING = 1e-9
"""A row whose cells differ from their copies by less than this share of the largest cell has left as it is."""

IDENTITY_SHARE = 0.95
"""A column of whole numbers that has so many different ones, as a share of the rows, may be patients' numbers."""


@answers(tasks.COLUMN_VOTES)
def column_votes(site: Site, question: Nothing) -> tasks.ColumnVotesAnswer:  # noqa: ARG001
    """Vote for the columns that correlation-based feature selection chooses on the site's training rows."""
    train = site.train()
    return tasks.ColumnVotesAnswer(select(filled(train.X), train.classes).astype(np.float64))


@answers(tasks.DISTORTED_ROWS)
def distorted_rows(site: Site, question: tasks.DistortedRowsQuestion) -> tasks.DistortedRowsAnswer:
    """Disclose a distorted copy of the site's training rows, if it has agreed to that and no row is left as it is."""
    refusal = "to distort its rows twice in this run: each of two copies reveals what the other hides"
    site.require_same(tasks.DISTORTED_ROWS.name, records.digest(records.values_of(question)), refusal)
    X = cells_to_distort(site, question)
    site.check_size(X.size)
    _warn_of_identities(site, question, X)
    distorted = distort(X)
    _check_distortion(site, X, distorted)
    # Sorted by their own cells and classes, as rows may be equal: the table's order could re-identify them.
    classes = site.train().classes
    order = np.lexsort((classes, *distorted.T))
    return tasks.DistortedRowsAnswer(distorted[order], classes[order])


def cells_to_distort(site: Site, question: tasks.DistortedRowsQuestion) -> Floats:
    """Return the cells of the training rows that are to be distorted; FederationError if the question names none."""
    X = site.train().X
    if question.columns.shape != (X.shape[1],) or not question.columns.any():
        raise FederationError(
            f"Site '{site.name}' did not receive a choice of its columns to distort. {NOT_FOLLOWED}"
        )
    return filled(X[:, question.columns])


def filled(X: Floats) -> Floats:
    """Return rows whose missing cells have the mean of their column at this site, 0 in a column without any cell."""
    sums = moments(X)
    return np.where(np.isnan(X), sums["total"] / np.maximum(sums["count"], 1.0), X)


def _check_distortion(site: Site, X: Floats, distorted: Floats) -> None:
    """Check that there is something to publish, and that no row of it is an undistorted one."""
    if not distorted.any():
        raise TableError(
            f"The distortion leaves nothing of the table of site '{site.name}': no singular value is above 1, because "
            "all its cells are small. Scale the table up: write its columns in smaller units, at every site."
        )
    unchanged = np.abs(X - distorted).max(axis=1) <= ROUNDING * np.abs(X).max()
    if (unchanged & X.any(axis=1)).any():
        raise TableError(
            f"The distortion leaves rows of site '{site.name}' as they are, and these are not disclosed: no singular "
            "value goes, or only columns that others repeat. Start the run with ssvd-order=perturb-first, which "
            "distorts more columns, or with another strategy."
        )


def _warn_of_identities(site: Site, question: tasks.DistortedRowsQuestion, X: Floats) -> None:
    """Log, for the hospital itself, which columns may be numbers of patients, which must never be a feature."""
    names = np.array(site.schema().columns)[question.columns]
    for name, column in zip(names, X.T, strict=True):
        if (column == np.rint(column)).all() and len(np.unique(column)) > IDENTITY_SHARE * len(column):
            logger.warning(
                "Site '%s' distorts and publishes the column '%s', whose cells are nearly all different whole numbers: "
                "is it a number of patients? Take it out of the table",
                *(site.name, name),
            )
