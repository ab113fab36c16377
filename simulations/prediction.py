"""Predictions of a saved model for the rows of a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from clients.table import Table, align
from clients.table_reading import read_for_prediction
from flower_pansvm.metrics import winners
from flower_pansvm.models.pan_svc import PanSVC


@dataclass(frozen=True)
class Predictions:
    """What a model says about the rows of a file.

    Parameters
    ----------
    frame : DataFrame
        One line per row: ``prediction``, then ``decision`` or, with several classes, ``decision_CLASS``, then
        ``probability_CLASS`` if the model gives probabilities.
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
        A ``model.npz``.
    table_path : Path
        CSV, Parquet or LIBSVM text with the columns the model was trained on, in any order; it may have others.
    label : str or None
        Label column; by default ``label`` if the file has such a column.

    Raises
    ------
    ModelFileError
        If the model cannot be read.
    TableError
        If the rows cannot be read or a column is missing.
    """
    model = PanSVC.load(model_path)
    table = read_for_prediction(table_path, label)
    needed, unused = _needed(table, model.schema_.columns)
    cells = pd.DataFrame(align(needed, model.schema_.columns).X, columns=list(model.schema_.columns))
    decisions = model.decision_function(cells)
    frame = pd.DataFrame({"prediction": model.predict(cells)})
    if decisions.ndim == 1:
        frame["decision"] = decisions
    else:
        for index, name in enumerate(model.schema_.classes):
            frame[f"decision_{name}"] = decisions[:, index]
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(cells)
        for index, name in enumerate(model.schema_.classes):
            frame[f"probability_{name}"] = probabilities[:, index]
    if table.labels is None:
        return Predictions(frame, None, unused)
    predicted = winners(decisions.reshape(len(decisions), -1))
    accuracy = float((model.schema_.indices(table.labels) == predicted).mean())
    return Predictions(frame, accuracy, unused)


def _needed(table: Table, columns: Sequence[str]) -> tuple[Table, tuple[str, ...]]:
    """Return the part of a table that a model needs, and the names of the other columns."""
    wanted = set(columns)
    here = [index for index, column in enumerate(table.columns) if column in wanted]
    names = tuple(table.columns[index] for index in here)
    unused = tuple(column for column in table.columns if column not in wanted)
    return Table(names, table.X[:, here], table.labels, table.absent_is_zero), unused
