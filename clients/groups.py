"""Test rows by group (of a column's numbers, a category or the sites), and by patient."""

import numpy as np

from clients.hospital import DIGESTS
from clients.site import Site
from flower_pansvm import records
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.counts import patient_squares
from flower_pansvm.errors import NOT_FOLLOWED, FederationError
from flower_pansvm.tested import TestedQuestion


def group_of_rows(site: Site, question: TestedQuestion, X: Floats) -> Ints:
    """Return the group of each row; FederationError if it is asked by what the run does not have."""
    columns, features, cuts = site.schema().columns, question.features, question.cuts
    known = site.name in question.sites and not features if question.sites else set(features) <= set(columns)
    if not known or cuts.ndim != 1 or not (np.diff(cuts) > 0).all():
        raise FederationError(f"Site '{site.name}' was asked for groups that there are not. {NOT_FOLLOWED}")
    if not features:
        return np.full(len(X), question.sites.index(site.name) if question.sites else 0)
    cells = X[:, [columns.index(name) for name in features]]
    group = cells.argmax(axis=1) if len(features) > 1 else np.searchsorted(cuts, cells[:, 0], side="right")
    return np.where(np.isnan(cells).any(axis=1), question.groups - 1, group).astype(np.int64)


def squares_of(site: Site, predicted: Ints, question: object) -> Floats:
    """Return the sums of products of counts by patient over the test rows, for one question and broadcasts a run.

    Those of two models would reveal which of the rows between them are of the same patient.
    """
    refusal = (
        "to count by patient twice in this run: the counts of two models reveal which rows are of one patient"
    )
    key = {**records.get(site.state, DIGESTS), "question": records.digest(records.values_of(question))}
    site.require_same("squares", records.digest(key), refusal)
    test, classes = site.test(), len(site.schema().classes)
    site.check_size(4.0 * classes**2)
    return patient_squares(test.classes, predicted, test.patients, classes)
