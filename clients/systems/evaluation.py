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

from clients.groups import group_of_rows
from clients.site import Site
from clients.systems import answers
from clients.tested import tested_answer
from flower_pansvm import records
from flower_pansvm.arrays import Floats, blocks
from flower_pansvm.class_columns import positive_classes, winners
from flower_pansvm.counts import patient_squares
from flower_pansvm.errors import NOT_FOLLOWED, SettingError
from flower_pansvm.models.decisions import DecidingModel
from flower_pansvm.models.model import MODELS, model_of
from flower_pansvm.models.model_file import schema_to_arrays
from flower_pansvm.schema import Schema
from flower_pansvm.systems import evaluation as tasks

MOST_BYTES = 2**26
"""Of a model's file."""

ROW_SECONDS, NUMBER_SECONDS = 1e-3, 1e-7
"""Most by which one record changes the time of an answer, besides twice the time of a made-up one: this, and as much
again for each number of the model, since a processor may take so long for one that is nearly 0."""

STEPS = 25
"""Scales of the wait that are its mean: it would be negative with a chance of exp(-STEPS) / 2, and reveal more."""


@answers(tasks.MODEL_TEST)
def model_test(site: Site, question: tasks.ModelTestQuestion) -> tasks.ModelTestAnswer:
    """Count the test records by class and by what a model says of them."""
    model, rows, schema = _model(site, question), site.test(), site.schema()
    X = rows.X
    columns, sides = [schema.columns.index(name) for name in model.schema_.columns], _sides(schema)
    decisions, row = np.empty((len(X), sides)), np.empty((1, len(columns)))
    for index in range(len(X)):
        row[0] = X[index, columns]
        decisions[index] = _decided(model, row, sides)
    counted = tested_answer(site, question, rows, decisions)
    if not site.simulated:
        _wait(site.terms.rows_per_patient * _most_seconds(model, sides), question.rho)
    return tasks.ModelTestAnswer(counted.cells)


@answers(tasks.SUBGROUPS)
def subgroups(site: Site, question: tasks.SubgroupsQuestion) -> tasks.SubgroupsAnswer:
    """Count the test records by group, class and predicted class: once a run.

    Two kinds of groups would reveal the records between them. A group of fewer than ``min-cluster`` patients counts
    with the missing cells; if these are as few then, this site's records count nowhere.
    """
    digest = records.digest(records.values_of(question))
    site.require_same("subgroups", digest, "to count by two kinds of groups in this run")
    model, rows, schema = _model(site, question), site.test(), site.schema()
    groups, classes = question.groups, len(schema.classes)
    site.check_size(float(groups) * classes**2)
    group = group_of_rows(site, question, rows.X)
    columns = [schema.columns.index(name) for name in model.schema_.columns]
    with np.errstate(all="ignore"):
        parts = [winners(model.decisions_of(rows.X[block][:, columns])) for block in blocks(len(rows.X))]
    predicted = np.minimum(np.concatenate([np.empty(0, dtype=np.int64), *parts]), classes - 1)
    # Each copied record counts as a patient: copies do not show which are of one patient.
    patients = np.arange(len(rows.X)) if site.level == "perturbed" else rows.patients
    sizes = [len(np.unique(patients[group == index])) for index in range(groups)]
    small = [index for index in range(groups - 1) if sizes[index] < site.least_patients]
    group[np.isin(group, small)] = groups - 1
    if 0 < len(np.unique(patients[group == groups - 1])) < site.least_patients:
        return tasks.SubgroupsAnswer(*np.zeros((2, groups, classes, classes)))
    counts, products = np.zeros((2, groups, classes, classes))
    np.add.at(counts, (group, rows.classes, predicted), 1.0)
    for index in range(groups if site.level != "perturbed" else 0):
        members = group == index
        squares = patient_squares(rows.classes[members], rows.classes[members], patients[members], classes)
        products[index] = squares.reshape(classes, 2, classes, 2).sum(axis=(1, 3))
    return tasks.SubgroupsAnswer(counts, products)


def _model(site: Site, question: tasks.ModelTestQuestion | tasks.SubgroupsQuestion) -> DecidingModel:
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


def _sides(schema: Schema) -> int:
    return len(positive_classes(len(schema.classes)))


def _decided(model: DecidingModel, row: Floats, sides: int) -> Floats:
    """Return the decision values that a model gives a record: whatever it makes of one, some values."""
    try:
        with np.errstate(all="ignore"):
            return model.decisions_of(row).reshape(sides)
    except Exception:  # a model could be made to fail for one record
        return np.zeros(sides)


def _most_seconds(model: DecidingModel, sides: int) -> float:
    """Return the seconds that one record can take, by a made-up one; the first call may have to import something."""
    made_up = np.full((1, len(model.schema_.columns)), np.nan)
    _decided(model, made_up, sides)
    started = time.perf_counter()
    _decided(model, made_up, sides)
    numbers = sum(array.size for array in model.to_arrays().values())
    return ROW_SECONDS + 2 * (time.perf_counter() - started) + NUMBER_SECONDS * numbers


def _wait(seconds: float, rho: float) -> None:
    """Wait for a random time, with Laplace's distribution, beside which so many seconds are few.

    With a scale of seconds / epsilon it costs epsilon² / 2 (Bun and Steinke 2016).
    """
    scale = seconds / math.sqrt(2 * tasks.TIME_SHARE * rho)
    draw = SystemRandom()
    time.sleep(max(0.0, STEPS * scale + draw.expovariate(1 / scale) - draw.expovariate(1 / scale)))
