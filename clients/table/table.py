"""A site's table as numbers, and its columns in the order of the federation. Nothing here leaves the site."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import TableError
from flower_pansvm.lists import first_of
from flower_pansvm.schema import LIBSVM_COLUMN

LABEL = "label"
"""Name of the label column unless a site says otherwise; LIBSVM text has no column names, and gets this one."""


FUNCTION = "python:"
"""How a node config's ``data`` begins that names a function, ``python:module:function``, and no file."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of one site, as numbers; if it is printed by mistake, no patient is shown."""

    columns: tuple[str, ...]  # names of the features
    X: Floats = field(repr=False)  # (rows, features): NaN is a missing cell, infinity does not occur
    labels: NDArray[np.str_] | None = field(repr=False)  # (rows,): canonical; None if read without labels
    absent_is_zero: bool = False  # whether a column f<number> that is not there is all zero, as in LIBSVM
    ids: NDArray[np.str_] | None = field(default=None, repr=False)  # (rows,): in order; None without row-id
    readings: Mapping[str, str] = field(default_factory=dict)  # see `TableForm.readings`
    # (rows,): whose each row is; None without patient-id, where each row counts as a patient.
    patients: NDArray[np.str_] | None = field(default=None, repr=False)
    patient_id: str = ""  # the column that says so


def align(table: Table, columns: Sequence[str]) -> Table:
    """Bring a table's columns into the order of the federation or of the model; TableError if they are not the same."""
    indices = {column: index for index, column in enumerate(table.columns)}
    absent = [column for column in columns if column not in indices]
    if table.absent_is_zero:
        absent = [column for column in absent if not LIBSVM_COLUMN.fullmatch(column)]
    if absent:
        raise TableError(
            f"The table has no {columns_text(absent)}, which the federation or the model uses. Add each missing column "
            "(the cells may be empty), or correct the names."
        )
    names = set(columns)
    extra = [column for column in table.columns if column not in names]
    if extra:
        raise TableError(
            f"The table has {columns_text(extra)}, which the federation or the model does not use. Leave it out; if "
            "it holds the labels, name it as the label column."
        )
    if len(names) < len(columns):
        raise TableError("The federation or the model names a column twice. Name each once.")
    X = np.zeros((len(table.X), len(columns)))
    for index, column in enumerate(columns):
        if column in indices:
            X[:, index] = table.X[:, indices[column]]
    return Table(tuple(columns), X, table.labels, table.absent_is_zero)


def columns_text(columns: Sequence[str]) -> str:
    """Return at most five columns by name and the rest by count, for an error."""
    return f"column {first_of([*map(repr, columns)], 5)}"
