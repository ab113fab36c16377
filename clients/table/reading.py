"""Reading a site's table: from a file, checked, and turned into numbers.

Nothing here leaves the site. Errors may travel to the coordinator, so they hold the name of the file (not its
folder), names of columns, row numbers and counts, and never the content of a cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clients.table.cells import canonical_labels, checked_numbers, first_row
from clients.table.encoding import encoded
from clients.table.file import LIBSVM_SUFFIXES, read_frame, read_in_parts, suffix_of
from clients.table.form import AS_IT_IS, TableForm, nearest_text
from clients.table.table import LABEL, Table
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import TableError
from flower_pansvm.labels import plain_name
from flower_pansvm.table_schema import TableSchema

MOST_FOOTER = 5
"""Last rows without a label that may be a footer."""


def read_table(
    path: Path, label: str | None = None, row_id: str | None = None, form: TableForm = AS_IT_IS
) -> Table:
    """Read a site's table for training.

    Parameters
    ----------
    path : Path
        A file of a kind that `clients.table.file.SOURCES` lists, also with ``.gz``. LIBSVM text has its label in the
        first field and no column names: its columns are f1, f2, ….
    label : str or None
        Name of the label column; None for the schema's, or ``label``.
    row_id : str or None
        Name of a column with a text of its own in each row, by which the table is sorted; it is no feature.
    form : TableForm
        How the file is written, and the schema of its columns.

    Raises
    ------
    TableError
        If the file cannot be read, or its content cannot be used for training.
    """
    label = label_of(form.schema, label)
    large = None if row_id is not None else read_in_parts(path, form)
    if large is not None:
        return _from_parts(*large, label, path.name, form)
    frame = read_frame(path, form)
    if row_id is None:
        return table_from_frame(frame, label, path.name, form)
    row_id = plain_name(row_id)
    ids = _row_ids(frame, row_id, path.name)
    order = np.argsort(ids, kind="stable")
    frame = frame.iloc[order]
    if form.schema is None or form.schema.patient_id != row_id:
        frame = frame.drop(columns=row_id)
    return replace(table_from_frame(frame, label, path.name, form), ids=ids[order])


def read_whole_file(path: Path, form: TableForm) -> Table:
    """Return all columns of a file, a text as a number that stands for it; TableError if it cannot be read.

    It depends on no schema file, but for how the file is written: by it a file is known again.
    """
    form = replace(form, missing="")
    large = read_in_parts(path, form)
    tables = [
        Table(tuple(frame.columns), np.column_stack([_numbered(frame[name]) for name in frame]), None)
        for frame in (large[1] if large else [read_frame(path, form)])
    ]
    return replace(tables[0], X=np.vstack([table.X for table in tables]))


def _numbered(cells: "pd.Series[str]") -> Floats:
    """Return cells as numbers, other ones as 24 bits of a digest, which are exact in single precision.

    A text with one number in it, as P17, is that number: a counter is one with letters, too. So is 1,5: it is 1.5 in
    another export.
    """
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    others = np.isnan(numbers)
    texts = cells[others].astype(str)
    digests = pd.Series(pd.util.hash_array(texts.to_numpy(dtype=object)) % 2**24, texts.index)
    digits = texts.str.extract(r"^\D*(\d{1,7})\D*$", expand=False)
    decimals = pd.to_numeric(texts.str.replace(",", ".", regex=False), errors="coerce")
    numbers[others] = decimals.fillna(pd.to_numeric(digits)).fillna(digests).to_numpy(dtype=np.float64)
    return numbers


def without_dropped(frame: pd.DataFrame, drop: Sequence[str], name: str) -> pd.DataFrame:
    """Return a frame without some columns; TableError if one of them is not there."""
    for column in drop:
        if column not in frame.columns:
            raise TableError(
                f"'{name}' has no column '{column}' to drop. Correct the name, or do not drop it. A name that holds a "
                "comma stands in double quotes.",
                detail=nearest_text(column, frame.columns),
            )
    return frame.drop(columns=list(drop))


def label_of(schema: TableSchema | None, named: str | None = None) -> str:
    """Return the name of the label column: the one that is named, else the schema's, else ``label``."""
    return plain_name(named or (schema.label if schema else "") or LABEL)


def _row_ids(frame: pd.DataFrame, row_id: str, name: str) -> NDArray[np.str_]:
    """Return the id of each row as canonical label, after a check that they differ."""
    if row_id not in frame.columns:
        raise TableError(
            f"'{name}' has no column '{row_id}'. Name the column of row ids in the node config as row-id."
        )
    ids = canonical_labels(frame[row_id])
    present = [text for text in ids if text is not None]
    if len(set(present)) < len(ids):
        raise TableError(
            f"In '{name}', two rows have the same text in column '{row_id}', or one has none. Give each row one of its "
            "own, the same as in the tables that hold its other columns. A column that says whose the rows are is the "
            "schema file's patient-id, and no row-id.",
            detail=f"Of {len(ids)} rows, {len(set(present))} have an id of their own.",
        )
    return np.array(present, dtype=np.str_)


def _from_parts(rows: int, frames: Iterator[pd.DataFrame], label: str, name: str, form: TableForm) -> Table:
    """Return the table of a file whose rows come in blocks."""
    tables: list[Table] = []
    X, start = np.empty((0, 0)), 0
    for frame in frames:
        try:
            block = table_from_frame(frame, label, name, form)
        except TableError as error:
            raise TableError(
                str(error), detail=f"{error.detail} Count from data row {start + 1} on."
            ) from None
        if not tables:
            X = np.empty((rows, block.X.shape[1]))
        X[start : start + len(frame)] = block.X
        tables.append(replace(block, X=np.empty((0, 0))))
        start += len(frame)
    labels = np.concatenate([block.labels for block in tables if block.labels is not None])
    patients = [block.patients for block in tables if block.patients is not None]
    return replace(tables[0], X=X, labels=labels, patients=np.concatenate(patients) if patients else None)


def table_from_frame(frame: pd.DataFrame, label: str | None, name: str, form: TableForm = AS_IT_IS) -> Table:
    """Turn cells into a table of numbers; true and false become 1 and 0, and categories as in the schema.

    ``label`` is the name of the label column; None for a table without labels, and without regard to patients. ``name``
    is that of the file, without its folder, for errors. TableError if there are no rows or features, labels or patients
    are missing, or a cell is text or infinite.
    """
    if len(frame) == 0:
        raise TableError(
            f"'{name}' has no rows, and a site without rows cannot take part. Is it the right file, or did an "
            "export or a filter go wrong?"
        )
    schema, patients, patient_id = form.schema, None, ""
    if schema is not None and schema.patient_id and label is not None:
        patients, patient_id = _patients(frame, schema.patient_id, name), schema.patient_id
    frame = without_dropped(frame, form.drop, name)
    columns = [str(column) for column in frame.columns]
    labels = None
    if label is not None:
        if label not in columns:
            raise _no_label_column(label, columns, name)
        labels = _labels(frame[label], label, name, schema.classes if schema else ())
        frame = frame.drop(columns=label)
        columns.remove(label)
    if schema is not None:
        X, readings = encoded(frame, schema, name, form), form.readings(schema.features)
        return Table(schema.features, X, labels, False, None, readings, patients, patient_id)
    if not columns:
        raise TableError(f"'{name}' has no feature columns. Add the columns to learn from.")
    X = checked_numbers(frame, columns, name, form)
    is_libsvm = suffix_of(name) in LIBSVM_SUFFIXES
    return Table(tuple(columns), X, labels, is_libsvm, readings=form.readings(columns))


def _labels(column: "pd.Series[str]", label: str, name: str, classes: Sequence[str]) -> NDArray[np.str_]:
    """Return the labels in canonical form, and where the classes are known as they are written there."""
    texts = canonical_labels(column, classes)
    missing = np.array([text is None for text in texts])
    if missing.any():
        raise TableError(
            f"In '{name}', there are rows without a label in column '{label}'. If that means no, as of a date of "
            "death, write yes and no; else fill them in (of a patient's rows from REDCap often one has it), or leave "
            "them out. To predict such rows, leave the column out. If NA or the like is a class, list the classes in a "
            "schema file.",
            detail=_which_rows(missing),
        )
    return np.array(texts, dtype=np.str_)


def _which_rows(marked: NDArray[np.bool_]) -> str:
    """Return which rows are marked, and whether they may be no patients."""
    count, first = np.count_nonzero(marked), first_row(marked)
    which = f"They are {count} of {len(marked)} rows, the first is data row {first}."
    if count <= MOST_FOOTER and first == len(marked) - count + 1:
        return f"{which} They are the last: a footer? Then say skip-footer={count}."
    return f"{which} Is it a row of units? Then take it out." if first == count == 1 else which


def _patients(frame: pd.DataFrame, patient_id: str, name: str) -> NDArray[np.str_]:
    """Return the patient of each row, as canonical label."""
    if patient_id not in frame.columns:
        raise TableError(
            f"'{name}' has no column '{patient_id}', which the schema file names as patient-id: it says whose each row "
            "is. Add the column, or correct the name, at all sites; or take patient-id out of the file, if each "
            "patient has one row.",
            detail=nearest_text(patient_id, frame.columns),
        )
    ids = canonical_labels(frame[patient_id])
    missing = np.array([text is None for text in ids])
    if missing.any():
        raise TableError(
            f"In '{name}', there are rows without a text in column '{patient_id}', the patient-id, and they may be of "
            "patients who have other rows. Fill the column in (merged cells leave ids in first rows only), or leave "
            "these rows out.",
            detail=_which_rows(missing),
        )
    return np.array(ids, dtype=np.str_)


def _no_label_column(label: str, columns: Sequence[str], name: str) -> TableError:
    if suffix_of(name) in LIBSVM_SUFFIXES:
        return TableError(
            f"'{name}' is LIBSVM text, which has no column '{label}': its label is the first field of each line. "
            "Leave the setting 'label' out."
        )
    return TableError(
        f"'{name}' has no label column '{label}'. Name the label column with the setting 'label' (pansvm: --label "
        "COLUMN).",
        # In a file without a row of names, these are cells of a patient.
        detail=f"{nearest_text(label, columns)} The last column is '{columns[-1]}'.",
    )
