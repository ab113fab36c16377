"""A trained model evaluated on the site's test records: on true ones, which is charged, or by subgroups.

The model is the coordinator's choice. On true records the gate adds noise, and a record's part is a function of that
record and the model, bit for bit: each record goes alone through calls of the same shapes, so that no other one can
change how its numbers are rounded. It is 1 in one cell whatever the model makes of the record, and no refusal reveals
one.
"""

import math
import time
from random import SystemRandom

import numpy as np

from clients.site import Site
from clients.systems import answers
from flower_pansvm import records
from flower_pansvm.arrays import Floats, Ints, blocks
from flower_pansvm.class_columns import winners
from flower_pansvm.counts import confusion_counts
from flower_pansvm.errors import NOT_FOLLOWED, FederationError, SettingError
from flower_pansvm.models.decisions import DecidingModel
from flower_pansvm.models.model import MODELS, model_of
from flower_pansvm.models.model_file import schema_to_arrays
from flower_pansvm.systems.evaluation import (
    MODEL_TEST,
    SUBGROUPS,
    TIME_SHARE,
    ModelTestAnswer,
    ModelTestQuestion,
    SubgroupsAnswer,
    SubgroupsQuestion,
    groups_of,
)

MOST_BYTES = 2**26
"""Of a model's file."""

ROW_SECONDS, NUMBER_SECONDS = 1e-3, 1e-7
"""Most by which one record changes the time of an answer, besides twice the time of a made-up one: this, and as much
again for each number of the model, since a processor may take so long for one that is nearly 0."""

STEPS = 25
"""Scales of the wait that are its mean: it would be negative with a chance of exp(-STEPS) / 2, and reveal more."""


@answers(MODEL_TEST)
def model_test(site: Site, question: ModelTestQuestion) -> ModelTestAnswer:
    """Count the test records by class and by what a model says of them."""
    model, rows, schema = _model(site, question), site.test(), site.schema()
    X = rows.X
    columns, classes = [schema.columns.index(name) for name in model.schema_.columns], len(schema.classes)
    cells, row = np.zeros((classes, 2)), np.empty((1, len(columns)))
    for index, true in enumerate(rows.classes):
        row[0] = X[index, columns]
        predicted = _predicted(model, row, classes)
        cells[true, predicted if classes == 2 else int(predicted == true)] += 1.0
    if not site.simulated:
        _wait(site.terms.rows_per_patient * _most_seconds(model, classes), question.rho)
    return ModelTestAnswer(cells)


@answers(SUBGROUPS)
def subgroups(site: Site, question: SubgroupsQuestion) -> SubgroupsAnswer:
    """Count the test records by group, class and predicted class: once a run.

    Two kinds of groups would reveal the records between them. A group of fewer than ``min-cluster`` patients counts
    with the missing cells; if these are as few then, this site's records count nowhere.
    """
    digest = records.digest(records.values_of(question))
    site.require_same("subgroups", digest, "to count by two kinds of groups in this run")
    model, rows, schema = _model(site, question), site.test(), site.schema()
    groups, classes = groups_of(question), len(schema.classes)
    site.check_size(float(groups) * classes**2)
    group = _groups(site, question, rows.X)
    columns = [schema.columns.index(name) for name in model.schema_.columns]
    with np.errstate(all="ignore"):
        parts = [winners(model.decisions_of(rows.X[block][:, columns])) for block in blocks(len(rows.X))]
    predicted = np.minimum(np.concatenate([np.empty(0, dtype=np.int64), *parts]), classes - 1)
    # Each copied record counts as a patient: copies do not show which are of one patient.
    patients = np.arange(len(rows.X)) if site.level == "perturbed" else rows.patients
    sizes = [len(np.unique(patients[group == index])) for index in range(groups)]
    small = [index for index in range(groups - 1) if sizes[index] < site.least_patients]
    group[np.isin(group, small)] = groups - 1
    counted = [group == index for index in range(groups)]
    if 0 < len(np.unique(patients[counted[-1]])) < site.least_patients:
        return SubgroupsAnswer(np.zeros((groups, classes, classes)))
    return SubgroupsAnswer(
        np.stack([confusion_counts(rows.classes[mask], predicted[mask], classes) for mask in counted])
    )


def _groups(site: Site, question: SubgroupsQuestion, X: Floats) -> Ints:
    """Return the group of each record; FederationError if the question is no column's or category's."""
    schema, features, cuts = site.schema(), question.features, question.cuts
    if not features or not set(features) <= set(schema.columns) or (np.diff(cuts) <= 0).any():
        raise FederationError(f"Site '{site.name}' refuses groups of unknown columns. {NOT_FOLLOWED}")
    cells = X[:, [schema.columns.index(name) for name in features]]
    groups = cells.argmax(axis=1) if len(features) > 1 else np.searchsorted(cuts, cells[:, 0], side="right")
    return np.where(np.isnan(cells).any(axis=1), groups_of(question) - 1, groups).astype(np.int64)


def _model(site: Site, question: ModelTestQuestion | SubgroupsQuestion) -> DecidingModel:
    """Return the model, after checking that it is one of the run's columns and classes, and all its numbers doubles.

    Texts where numbers belong, or complex numbers, would take longer with one record than `_most_seconds` allows for.
    """
    if question.model.size <= MOST_BYTES:
        # At a hospital no entry point's: that would import, and run on records, what it has not agreed to.
        kinds = MODELS if site.simulated else MODELS.data
        model = model_of(question.model.tobytes(), "The model to be tested", kinds)
        schema = site.schema()
        fits = set(model.schema_.columns) <= set(schema.columns) and model.schema_.classes == schema.classes
        if isinstance(model, DecidingModel) and fits and _has_doubles(model) and site.own_columns().all():
            return model
    raise SettingError(
        f"Site '{site.name}' refuses a model to test that is too large, of other columns or classes than the run's, "
        f"or none that classifies a record by itself. {NOT_FOLLOWED}"
    )


def _has_doubles(model: DecidingModel) -> bool:
    """Return whether all parts of a model but names and single values are doubles or whole numbers."""
    names, parts = schema_to_arrays(model.schema_), model.to_arrays()
    numbers = [array for name, array in parts.items() if name not in names and array.ndim > 0]
    return all(array.dtype in (np.float64, np.int64) for array in numbers)


def _predicted(model: DecidingModel, row: Floats, classes: int) -> int:
    """Return the class index that a model gives a record: whatever it makes of one, some class."""
    try:
        with np.errstate(all="ignore"):
            return min(int(winners(model.decisions_of(row))[0]), classes - 1)
    except Exception:  # a model could be made to fail for one record
        return 0


def _most_seconds(model: DecidingModel, classes: int) -> float:
    """Return how long one record can take, by a made-up one; the first call may have to import something."""
    made_up = np.full((1, len(model.schema_.columns)), np.nan)
    _predicted(model, made_up, classes)
    started = time.perf_counter()
    _predicted(model, made_up, classes)
    numbers = sum(array.size for array in model.to_arrays().values())
    return ROW_SECONDS + 2 * (time.perf_counter() - started) + NUMBER_SECONDS * numbers


def _wait(seconds: float, rho: float) -> None:
    """Wait for a random time, with Laplace's distribution, beside which so many seconds are few.

    With a scale of seconds / epsilon it costs epsilon² / 2 (Bun and Steinke 2016).
    """
    scale = seconds / math.sqrt(2 * TIME_SHARE * rho)
    draw = SystemRandom()
    time.sleep(max(0.0, STEPS * scale + draw.expovariate(1 / scale) - draw.expovariate(1 / scale)))
