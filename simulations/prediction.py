"""Predictions of a saved model of any kind for the rows of a file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clients.table.reading import read_for_prediction
from clients.table.table import Table, align
from flower_pansvm.models.errors import ModelFileError
from flower_pansvm.models.model import Model, load_model
from flower_pansvm.models.random_kernel_svc import NEEDS_SITES, RandomKernelSVC
from flower_pansvm.random_kernel import block_seed, matrix_digest, random_matrix
from simulations.audit.sites import simulated_secrets
from strategies.results import RESULT_FILE
from strategies.settings import settings_from


@dataclass(frozen=True)
class Predictions:
    """What a model says about the rows of a file.

    Parameters
    ----------
    frame : DataFrame
        One line per row: ``prediction``, then ``decision`` or, with several classes, ``decision_CLASS`` if the model
        has decision values, then ``probability_CLASS`` if it gives probabilities.
    accuracy : float or None
        Share of rows predicted right; None if the file has no label column.
    unused : tuple of str
        Columns of the file that the model does not need, such as features that a selection has removed.
    """

    frame: pd.DataFrame
    accuracy: float | None
    unused: tuple[str, ...]


def predict_file(model_path: Path, table_path: Path, label: str | None) -> Predictions:
    """Predict the rows of a file.

    Parameters
    ----------
    model_path : Path
        A ``model.npz`` of any kind.
    table_path : Path
        CSV, Parquet or LIBSVM text with the columns the model was trained on, in any order; it may have others.
    label : str or None
        Label column; by default ``label`` if the file has such a column.

    Raises
    ------
    ModelFileError
        If the model cannot be read, or the run has made none.
    TableError
        If the rows cannot be read or a column is missing.
    """
    _check_model_was_made(model_path)
    model = load_model(model_path)
    if isinstance(model, RandomKernelSVC):
        model = with_simulated_matrices(model, model_path.parent / RESULT_FILE)
    schema = model.schema_
    table = read_for_prediction(table_path, label)
    needed, unused = _needed(table, schema.columns)
    cells = pd.DataFrame(align(needed, schema.columns).X, columns=list(schema.columns))
    predicted = model.predict(cells)
    frame = pd.DataFrame({"prediction": predicted})
    if hasattr(model, "decision_function"):
        decisions = model.decision_function(cells)
        if decisions.ndim == 1:
            frame["decision"] = decisions
        else:
            _add_by_class(frame, "decision", schema.classes, decisions)
    if hasattr(model, "predict_proba"):
        _add_by_class(frame, "probability", schema.classes, model.predict_proba(cells))
    if table.labels is None:
        return Predictions(frame, None, unused)
    place = {name: index for index, name in enumerate(schema.classes)}
    said = np.array([place[str(name)] for name in predicted])
    accuracy = float((schema.indices(table.labels) == said).mean())
    return Predictions(frame, accuracy, unused)


def with_simulated_matrices(model: RandomKernelSVC, result: Path) -> Model:
    """Return a model with the random matrices of its run's simulated sites, which follow from the settings.

    Raises
    ------
    ModelFileError
        If the matrices are others, as those of hospitals are, or the run's result is not beside the model.
    """
    if not result.exists():
        raise ModelFileError(NEEDS_SITES)
    settings = settings_from(json.loads(result.read_text(encoding="utf-8"))["config"])
    secrets, size = simulated_secrets(settings), len(model.parts_.u)
    matrices, columns = [], np.array(model.schema_.columns, dtype=np.str_)
    for number, digest in enumerate(model.parts_.digests):
        own = columns[model.parts_.blocks == number].tolist()
        candidates = (random_matrix(block_seed(secret, own), size, len(own)) for secret in secrets)
        matrices.append(next((B for B in candidates if matrix_digest(B) == digest), np.empty((0, len(own)))))
    return model.with_matrices(matrices)


def _check_model_was_made(path: Path) -> None:
    """Check that the run of a folder without a model was to make one."""
    result = path.parent / RESULT_FILE
    if path.exists() or not result.exists():
        return
    described = json.loads(result.read_text(encoding="utf-8"))
    if described.get("model_sha256") is None:
        raise ModelFileError(
            f"There is nothing to predict with: the strategy of this run, {described['strategy']}, makes no model. "
            f"{RESULT_FILE} has all that it has found."
        )


def _add_by_class(
    frame: pd.DataFrame, name: str, classes: Sequence[str], values: NDArray[np.float64]
) -> None:
    for index, class_name in enumerate(classes):
        frame[f"{name}_{class_name}"] = values[:, index]


def _needed(table: Table, columns: Sequence[str]) -> tuple[Table, tuple[str, ...]]:
    """Return the part of a table that a model needs, and the names of the other columns."""
    wanted = set(columns)
    here = [index for index, column in enumerate(table.columns) if column in wanted]
    names = tuple(table.columns[index] for index in here)
    unused = tuple(column for column in table.columns if column not in wanted)
    return Table(names, table.X[:, here], table.labels, table.absent_is_zero), unused
