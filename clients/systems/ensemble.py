"""Ensemble voting: the site's own SVM votes on all sites' test rows, and the majority is scored on the site's own."""

import numpy as np

from clients.groups import squares_of
from clients.site import Site
from clients.systems import answers
from clients.systems.local_only import classify
from flower_pansvm import records
from flower_pansvm.arrays import Bools
from flower_pansvm.counts import confusion_counts
from flower_pansvm.errors import NOT_FOLLOWED, FederationError
from flower_pansvm.systems import ensemble as tasks
from flower_pansvm.systems.local_only import LocalScoresQuestion
from flower_pansvm.tasks import Nothing


@answers(tasks.HELD_OUT)
def held_out(site: Site, question: Nothing) -> tasks.HeldOutAnswer:  # noqa: ARG001
    """Disclose the site's test rows without their labels, if the hospital has agreed to that."""
    rows = site.test().X
    site.check_size(rows.size)
    return tasks.HeldOutAnswer(rows)


@answers(tasks.VOTES)
def votes(site: Site, question: LocalScoresQuestion) -> tasks.VotesAnswer:
    """Train an SVM on the site's training rows, and vote for the class that it gives each row of the ballot."""
    rows, classes = len(_own_rows(site)), len(site.schema().classes)
    site.check_size(float(rows) * classes)
    predicted = classify(site, question, site.get_broadcast(tasks.BALLOT).rows)
    cast = np.zeros((rows, classes))
    cast[np.arange(rows), predicted] = 1.0
    return tasks.VotesAnswer(cast)


@answers(tasks.ENSEMBLE_SCORES)
def ensemble_scores(site: Site, question: tasks.EnsembleScoresQuestion) -> tasks.EnsembleScoresAnswer:
    """Count the site's own test rows by true class and by what the sites' models have voted for."""
    own_rows, predicted, classes = _own_rows(site), question.predicted, len(site.schema().classes)
    site.check_size(float(classes) ** 2)
    if predicted.shape != own_rows.shape or ((predicted < 0) | (predicted >= classes)).any():
        raise FederationError(
            f"Site '{site.name}' did not receive one class for each row of the ballot. {NOT_FOLLOWED}"
        )
    refusal = (
        "to count its test rows twice in this run: counts by two lists of predicted classes reveal the labels of the "
        "rows in which these differ"
    )
    site.require_same(tasks.ENSEMBLE_SCORES.name, records.digest(records.values_of(question)), refusal)
    counts = confusion_counts(site.test().classes, predicted[own_rows], classes)
    return tasks.EnsembleScoresAnswer(counts, squares_of(site, predicted[own_rows], question))


def _own_rows(site: Site) -> Bools:
    """Return the mask of the site's rows in the ballot, shape (rows,), after checking that they are its test rows.

    And that the ballot is the first of this run.
    """
    ballot, test_rows = site.get_broadcast(tasks.BALLOT), site.test().X
    own_rows: Bools = np.array(ballot.sites, dtype=np.str_) == site.name
    fits = ballot.rows.shape == (len(own_rows), test_rows.shape[1])
    if not (fits and np.array_equal(ballot.rows[own_rows], test_rows, equal_nan=True)):
        raise FederationError(
            f"Site '{site.name}' refuses a ballot on which the rows under its name are not its test rows, or which is "
            f"no table of numbers. Has the site's table changed during the run? {NOT_FOLLOWED}"
        )
    refusal = "a second ballot in this run: its votes on rows that the coordinator chooses reveal its model"
    site.require_same(tasks.BALLOT.name, site.digest_of(tasks.BALLOT), refusal)
    return own_rows
