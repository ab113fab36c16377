"""The local work that every strategy begins and ends with: join, moments, extremes, scores."""

import secrets

import numpy as np
from numpy.typing import NDArray

from clients.answering import Inputs, answers
from clients.membership import join_run, note_to
from clients.site import Site
from clients.terms import check_extremes_agreed
from flower_pansvm import messages, scaling
from flower_pansvm.metrics import confusion_counts, decision_histogram, winners
from flower_pansvm.records import Value, texts
from flower_pansvm.schema import class_names

SPREAD = 0.3
"""How far decision values lie apart, in shares of the largest distance that is to be expected."""

SLOTS = "slots"
"""Purpose of the note by which the sites share the seed of their landmark slots."""


@answers(messages.JOIN)
def join(site: Site, inputs: Inputs) -> dict[str, Value]:
    """Read the table, make the keys of this run, and say what the columns and classes are called."""
    classes = class_names(site.labels(), list(inputs["positive_labels"]))
    return {
        "name": site.name,
        **join_run(site.context),
        "columns": texts(site.table().columns),
        "classes": np.unique(classes),
    }


@answers(messages.MOMENTS)
def moments(site: Site, inputs: Inputs) -> dict[str, Value]:  # noqa: ARG001 - a task without inputs
    """Add to the federated mean and variance; the first site also deals out the seed of the landmark slots."""
    train, test = site.train(), site.test()
    _share_slot_seed(site)
    return {
        "rows": _class_rows(site),
        "test_rows": np.array([float(len(test.classes))]),
        **scaling.moments(train.X),
    }


@answers(messages.ROWS)
def rows(site: Site, inputs: Inputs) -> dict[str, Value]:  # noqa: ARG001 - a task without inputs
    """Count the site's training rows by class."""
    return {"rows": _class_rows(site)}


@answers(messages.EXTREMES)
def extremes(site: Site, inputs: Inputs) -> dict[str, Value]:  # noqa: ARG001 - a task without inputs
    """Disclose the smallest and largest cell of each feature; infinite where all cells are missing."""
    check_extremes_agreed(site.context)
    X = site.train().X
    missing = np.isnan(X)
    return {
        "low": np.where(missing, np.inf, X).min(axis=0, initial=np.inf),
        "high": np.where(missing, -np.inf, X).max(axis=0, initial=-np.inf),
    }


@answers(messages.SCORES)
def scores(site: Site, inputs: Inputs) -> dict[str, Value]:
    """Count the site's test rows by class, predicted class and decision value."""
    schema, test = site.schema(), site.test()
    w, b = inputs["weights"][:, :-1], inputs["weights"][:, -1]
    decisions = site.mapped(test) @ w.T + b
    # Decision values lie around b, and a small C or a rare class draws them together there.
    scales = SPREAD * site.feature_map().typical_norm() * np.linalg.norm(w, axis=1)
    histograms = [
        decision_histogram(decisions[:, i], test.classes == positive, b[i], scales[i] or 1.0)
        for i, positive in enumerate(schema.positive_classes)
    ]
    return {
        "confusion": confusion_counts(test.classes, winners(decisions), len(schema.classes)),
        "histogram": np.stack(histograms),
    }


def _class_rows(site: Site) -> NDArray[np.float64]:
    return np.bincount(site.train().classes, minlength=len(site.schema().classes)).astype(np.float64)


def _share_slot_seed(site: Site) -> None:
    """If this site is the first of the roster, draw the seed and write it to each other site."""
    if site.participation is None or site.participation.this.roster[0] != site.name:
        return
    seed = secrets.token_bytes(32)
    site.keep(SLOTS, seed)
    for name in site.participation.this.roster[1:]:
        site.outbox[name] = note_to(site.participation, name, SLOTS, seed)
