"""Reading a site's table: from a file, checked, and turned into numbers.

Nothing here leaves the site. Errors may travel to the coordinator, so they hold the name of the file (not its
folder), names of columns, row numbers and counts, and never the content of a cell.
"""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clients.table.file import LIBSVM_SUFFIXES, MISSING, read_frame, suffix_of
from clients.table.table import LABEL, Table
from flower_pansvm.errors import TableError
from flower_pansvm.labels import canonical_label

CELLS_AT_ONCE = 1_000_000
"""Cells of text that are turned into numbers at a time."""


def read_table(path: Path, label: str | None = None, row_id: str | None = None) -> Table:
    """Read a site's table for training.

    Parameters
    ----------
    path : Path
        CSV with a header row and commas, Parquet, or LIBSVM text (``.libsvm``, ``.svm``), also with ``.gz``.
        LIBSVM text has its label in the first field and no column names: its columns are f1, f2, ….
    label : str or None
        Name of the label column; None for ``label``.
    row_id : str or None
        Name of a column with a text of its own in each row, by which the table is sorted; it is no feature.

    Raises
    ------
    TableError
        If the file cannot be read, or its content cannot be used for training.
    """
    frame = read_frame(path)
    if row_id is None:
        return table_from_frame(frame, label or LABEL, path.name)
    ids = _row_ids(frame, row_id, path.name)
    order = np.argsort(ids, kind="stable")
    table = table_from_frame(frame.iloc[order].drop(columns=row_id), label or LABEL, path.name)
    return replace(table, ids=ids[order])


def _row_ids(frame: pd.DataFrame, row_id: str, name: str) -> NDArray[np.str_]:
    """Return the id of each row, a number the same however it is written, after a check that they differ."""
    if row_id not in frame.columns:
        raise TableError(
            f"'{name}' has no column '{row_id}'. Name the column of row ids in the node config as row-id."
        )
    ids = canonical_labels(frame[row_id])
    found = [text for text in ids if text is not None]
    if len(set(found)) < len(ids):
        raise TableError(
            f"In '{name}', a row has no id in column '{row_id}', or two rows have the same. Give each row one of its "
            "own, the same as in the tables that hold its other columns.",
            detail=f"Of {len(ids)} rows, {len(set(found))} have an id of their own.",
        )
    return np.array(found, dtype=np.str_)


def read_for_prediction(path: Path, label: str | None = None) -> Table:
    """Read rows to predict, which may come without labels.

    Parameters
    ----------
    path : Path
        As for `read_table`.
    label : str or None
        Name of the label column, which then must exist. None takes a column ``label`` if there is one, and else
        every column is a feature.

    Raises
    ------
    TableError
        As for `read_table`.
    """
    frame = read_frame(path)
    if label is None and LABEL in frame.columns:
        label = LABEL
    return table_from_frame(frame, label, path.name)


def table_from_frame(frame: pd.DataFrame, label: str | None, name: str) -> Table:
    """Turn cells into a table of numbers; true and false become 1 and 0.

    Parameters
    ----------
    frame : DataFrame
        Cells as text or numbers, one row per patient.
    label : str or None
        Name of the label column; None if there is none.
    name : str
        What the frame was read from, for errors: a file name without its folder.

    Raises
    ------
    TableError
        If there are no rows or features, labels are missing, or a cell is text or infinite.
    """
    columns = [str(column) for column in frame.columns]
    if len(frame) == 0:
        raise TableError(
            f"'{name}' has no rows, and a site without rows cannot take part. Is it the right file, or did an "
            "export or a filter go wrong?"
        )
    labels = None
    if label is not None:
        if label not in columns:
            raise _no_label_column(label, columns, name)
        labels = _labels(frame[label], label, name)
        frame = frame.drop(columns=label)
        columns.remove(label)
    if not columns:
        raise TableError(f"'{name}' has no feature columns. Add the columns to learn from.")
    X = _numbers(frame, columns, name)
    return Table(tuple(columns), X, labels, absent_is_zero=suffix_of(name) in LIBSVM_SUFFIXES)


def canonical_labels(column: "pd.Series[str]") -> list[str | None]:
    """Return each cell of a column of labels in canonical form, None for a missing one."""
    texts = column.astype(str).tolist()
    return [
        None if missing or text.strip().lower() in MISSING else canonical_label(text)
        for text, missing in zip(texts, column.isna(), strict=True)
    ]


def _labels(column: "pd.Series[str]", label: str, name: str) -> NDArray[np.str_]:
    texts = canonical_labels(column)
    missing = [number for number, text in enumerate(texts, start=1) if text is None]
    if missing:
        raise TableError(
            f"In '{name}', there are rows without a label in column '{label}'. Fill the labels in, or leave these rows "
            "out. To predict rows that have no labels, leave the column out.",
            detail=f"They are {len(missing)} of {len(texts)} rows, the first is data row {missing[0]}.",
        )
    return np.array(texts, dtype=np.str_)


def _numbers(frame: pd.DataFrame, columns: Sequence[str], name: str) -> NDArray[np.float64]:
    """Return the cells as numbers, shape (rows, columns)."""
    numeric = np.array([pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes])
    X, is_text = np.empty(frame.shape), np.zeros(frame.shape, dtype=bool)
    X[:, numeric] = frame.loc[:, numeric].to_numpy(dtype=np.float64, na_value=np.nan)
    # Many columns at once, for tables of genes have thousands and few rows; but not all rows: each step of the way
    # from text to number makes a copy that is several times as large as the numbers.
    texts = frame.loc[:, ~numeric]
    step = max(1, CELLS_AT_ONCE // max(1, texts.shape[1]))
    for start in range(0, len(texts), step):
        rows = slice(start, start + step)
        X[rows, ~numeric], is_text[rows, ~numeric] = _parse(texts.iloc[rows].to_numpy(dtype=object))
    if is_text.any():
        raise TableError(
            f"'{name}' holds text or a date where a number is needed. Leave missing cells empty, write a decimal point "
            "instead of a comma, code categories as numbers, and leave out columns that are no features; if it is the "
            "label column, name it as such.",
            detail=_where(is_text, columns),
        )
    if np.isinf(X).any():
        raise TableError(
            f"'{name}' holds an infinite number. Correct it, or leave the cell empty if its value is not known.",
            detail=_where(np.isinf(X), columns),
        )
    return X


def _parse(texts: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return texts as numbers, a missing one as NaN, and which are neither."""
    cells = pd.Series(texts.ravel(), dtype=object)
    absent = cells.isna()
    cells = cells.astype(str).str.strip().str.lower().replace({"true": "1", "false": "0"})
    absent |= cells.isin(MISSING)
    parsed = pd.to_numeric(cells.mask(absent), errors="coerce").to_numpy(dtype=np.float64)
    is_text = np.isnan(parsed) & ~absent.to_numpy()
    return parsed.reshape(texts.shape), is_text.reshape(texts.shape)


def _where(wrong: NDArray[np.bool_], columns: Sequence[str]) -> str:
    """Return where the first wrong cell of the first affected column is, and how many columns have one."""
    affected = np.flatnonzero(wrong.any(axis=0))
    row = int(np.argmax(wrong[:, affected[0]])) + 1
    more = f" (and {len(affected) - 1} more columns)" if len(affected) > 1 else ""
    return f"Look at column '{columns[affected[0]]}', data row {row}{more}."


def _no_label_column(label: str, columns: Sequence[str], name: str) -> TableError:
    if suffix_of(name) in LIBSVM_SUFFIXES:
        return TableError(
            f"'{name}' is LIBSVM text, which has no column '{label}': its label is the first field of each line. "
            "Leave the setting 'label' out."
        )
    nearest = difflib.get_close_matches(label, columns, n=3, cutoff=0.0)
    return TableError(
        f"'{name}' has no label column '{label}'. Name the label column with the setting 'label' (pansvm: --label "
        "COLUMN).",
        # In a file without a row of names, these are cells of a patient.
        detail=f"The nearest column names are {', '.join(map(repr, nearest))}; the last column is '{columns[-1]}'.",
    )
