"""A trained model tried on the site's true test records, one at a time. The gate charges, and adds the noise.

The model is the coordinator's choice. A record's part is a function of that record and the model, bit for bit: each
record goes alone through calls of the same shapes, so that no other one can change how its numbers are rounded. It is 1
in one cell whatever the model makes of the record, and no refusal tells of one.
"""

import math
import time
from random import SystemRandom

import numpy as np

from clients.site import Site
from clients.systems import answers
from flower_pansvm.arrays import Floats
from flower_pansvm.class_columns import winners
from flower_pansvm.errors import NOT_FOLLOWED, SettingError
from flower_pansvm.models.decisions import DecidingModel
from flower_pansvm.models.model import model_of
from flower_pansvm.models.model_file import schema_to_arrays
from flower_pansvm.systems.evaluation import (
    MODEL_TEST,
    TIME_SHARE,
    ModelTestAnswer,
    ModelTestQuestion,
)

MOST_BYTES = 2**26
"""Of a model's file."""

ROW_SECONDS, NUMBER_SECONDS = 1e-3, 1e-7
"""Most by which one record changes the time of an answer, besides twice the time of a made-up one: this, and as much
again for each number of the model, since a processor may take so long for one that is nearly 0."""

STEPS = 25
"""Scales of the wait that are its mean: it would be negative with a chance of exp(-STEPS) / 2, and tell more."""


@answers(MODEL_TEST)
def model_test(site: Site, question: ModelTestQuestion) -> ModelTestAnswer:
    """Count the test records by class and by what a model says of them."""
    model, rows, schema = _model(site, question), site.test(), site.schema()
    X = rows.X
    columns, classes = [schema.columns.index(name) for name in model.schema_.columns], len(schema.classes)
    cells, row = np.zeros((classes, 2)), np.empty((1, len(columns)))
    for number, true in enumerate(rows.classes):
        row[0] = X[number, columns]
        said = _said(model, row, classes)
        cells[true, said if classes == 2 else int(said == true)] += 1.0
    if not site.simulated:
        _wait(_most_seconds(model, classes), question.rho)
    return ModelTestAnswer(cells)


def _model(site: Site, question: ModelTestQuestion) -> DecidingModel:
    """Return the model, after checking that it is one of the run's columns and classes, and all its numbers doubles.

    Texts where numbers belong, or complex numbers, would take longer with one record than `_most_seconds` allows for.
    """
    if question.model.size <= MOST_BYTES:
        model, schema = model_of(question.model.tobytes(), "The model to be tested"), site.schema()
        known = set(model.schema_.columns) <= set(schema.columns) and model.schema_.classes == schema.classes
        if isinstance(model, DecidingModel) and known and _has_doubles(model) and site.own_columns().all():
            return model
    raise SettingError(
        f"Site '{site.name}' was told a model to test that is too large, of other columns or classes than the run's, "
        f"or none that classifies a record by itself. {NOT_FOLLOWED}"
    )


def _has_doubles(model: DecidingModel) -> bool:
    """Return whether all parts of a model but names and single values are doubles or whole numbers."""
    names, parts = schema_to_arrays(model.schema_), model.to_arrays()
    numbers = [part for name, part in parts.items() if name not in names and part.ndim > 0]
    return all(part.dtype in (np.float64, np.int64) for part in numbers)


def _said(model: DecidingModel, row: Floats, classes: int) -> int:
    """Return the class index that a model gives a record: whatever it makes of one, some class."""
    try:
        with np.errstate(all="ignore"):
            return min(int(winners(model.decisions_of(row))[0]), classes - 1)
    except Exception:  # a model could be made to fail for one record
        return 0


def _most_seconds(model: DecidingModel, classes: int) -> float:
    """Return how long one record can take, by a made-up one; the first call may have to import something."""
    made_up = np.full((1, len(model.schema_.columns)), np.nan)
    _said(model, made_up, classes)
    started = time.perf_counter()
    _said(model, made_up, classes)
    numbers = sum(part.size for part in model.to_arrays().values())
    return ROW_SECONDS + 2 * (time.perf_counter() - started) + NUMBER_SECONDS * numbers


def _wait(seconds: float, rho: float) -> None:
    """Wait for a random time, with Laplace's distribution, beside which so many seconds are few.

    With a scale of seconds / epsilon it costs epsilon² / 2 (Bun and Steinke 2016).
    """
    scale = seconds / math.sqrt(2 * TIME_SHARE * rho)
    draw = SystemRandom()
    time.sleep(max(0.0, STEPS * scale + draw.expovariate(1 / scale) - draw.expovariate(1 / scale)))
