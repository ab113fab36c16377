"""A site's table as numbers, and its columns in the order of the federation. Nothing here leaves the site."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.errors import TableError
from flower_pansvm.schema import LIBSVM_COLUMN

LABEL = "label"
"""Name of the label column unless a site says otherwise; LIBSVM text has no column names, and gets this one."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of one site, as numbers.

    Parameters
    ----------
    columns : tuple of str
        Names of the features, p of them.
    X : array of float, shape (rows, p)
        The cells; NaN is a missing cell, infinity does not occur.
    labels : array of str, shape (rows,), or None
        Label of each row in canonical form (see `flower_pansvm.labels`); None if the table was read without labels.
    absent_is_zero : bool
        Whether a column ``f<number>`` that the table lacks is all zero, as in LIBSVM text, which leaves zeros out.
    """

    columns: tuple[str, ...]
    # Not shown: a table printed by mistake must not show a patient.
    X: NDArray[np.float64] = field(repr=False)
    labels: NDArray[np.str_] | None = field(repr=False)
    absent_is_zero: bool = False


def align(table: Table, columns: Sequence[str]) -> Table:
    """Bring a table's columns into a given order.

    Parameters
    ----------
    table : Table
        A site's table, or rows to predict.
    columns : sequence of str
        Features in the order of the federation or of the model.

    Raises
    ------
    TableError
        If the table lacks one of ``columns``, or has one that is not among them.
    """
    here = {column: index for index, column in enumerate(table.columns)}
    absent = [column for column in columns if column not in here]
    if table.absent_is_zero:
        absent = [column for column in absent if not LIBSVM_COLUMN.fullmatch(column)]
    if absent:
        raise TableError(
            f"The table has no {columns_text(absent)}, which the federation or the model uses. Add what is missing "
            "(the cells may be empty), or correct the names."
        )
    wanted = set(columns)
    extra = [column for column in table.columns if column not in wanted]
    if extra:
        raise TableError(
            f"The table has {columns_text(extra)}, which the federation or the model does not use. Remove what is "
            "too much; if it holds the labels, name it as the label column."
        )
    X = np.zeros((len(table.X), len(columns)))
    for index, column in enumerate(columns):
        if column in here:
            X[:, index] = table.X[:, here[column]]
    return Table(tuple(columns), X, table.labels, table.absent_is_zero)


def columns_text(columns: Sequence[str]) -> str:
    """Return at most five columns by name and the rest by count, for an error."""
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    return f"column {', '.join(map(repr, columns[:5]))}{more}"
