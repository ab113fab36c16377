"""Each hospital alone: an SVM on the site's own rows, scored on its own test rows. The model stays at the site."""

from math import inf
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from clients.groups import squares_of
from clients.site import Site
from clients.systems import answers
from flower_pansvm import records
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.counts import confusion_counts
from flower_pansvm.errors import NOT_FOLLOWED, SettingError
from flower_pansvm.systems.local_only import LOCAL_SCORES, LocalScoresAnswer, LocalScoresQuestion

MOST_STEPS = 10_000_000
"""Steps of the solver, libsvm's own limit, which scikit-learn leaves out: some settings would never come to an end."""


@answers(LOCAL_SCORES)
def local_scores(site: Site, question: LocalScoresQuestion) -> LocalScoresAnswer:
    """Train an SVM on the site's training rows, and count its test rows by true and predicted class."""
    test, classes = site.test(), len(site.schema().classes)
    site.check_size(float(classes) ** 2)
    predicted = classify(site, question, test.X)
    counts = confusion_counts(test.classes, predicted, classes)
    return LocalScoresAnswer(counts, squares_of(site, predicted, question))


def classify(site: Site, question: LocalScoresQuestion, X: Floats) -> Ints:
    """Train an SVM on the site's training rows, and return the class index that it gives each row of X."""
    _check(site, question)
    train = site.train()
    if len(X) == 0 or len(np.unique(train.classes)) == 1:
        return np.full(len(X), train.classes[0])
    predicted: Ints = _pipeline(site, question).fit(train.X, train.classes).predict(X)
    return predicted


def _pipeline(site: Site, question: LocalScoresQuestion) -> Any:
    """Return scikit-learn's SVC behind a scaling that is learned from the site's training rows, and from no others.

    Missing cells become the column's mean at the site; in a column without any cell they become 0.
    """
    terms = site.terms
    scalings = {"standard": StandardScaler(), "minmax": MinMaxScaler((-1, 1)), "none": "passthrough"}
    svc = SVC(
        C=question.C,
        kernel=terms.kernel,
        gamma=question.gamma or "scale",
        class_weight="balanced" if terms.class_weight == "balanced" else None,
        max_iter=MOST_STEPS,
    )
    return make_pipeline(SimpleImputer(keep_empty_features=True), scalings[terms.scaling], svc)


def _check(site: Site, question: LocalScoresQuestion) -> None:
    """Check that no run's settings say anything else, and that the site has not answered for other ones."""
    if not (0 < question.C < inf and 0 <= question.gamma < inf):
        raise SettingError(
            f"Site '{site.name}' refuses to train an SVM: C has to be above 0 and gamma not below 0, both finite. "
            f"{NOT_FOLLOWED}"
        )
    refusal = "to train a second SVM in this run: the counts of two differ in the test rows that change sides"
    site.require_same(LOCAL_SCORES.name, records.digest(records.values_of(question)), refusal)
