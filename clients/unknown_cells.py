"""Cells that a model does not know, such as a new category: training refuses their table, prediction only them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from clients.table.cells import LARGEST, as_numbers
from clients.table.encoding import places_of_cells, without_codes, without_texts
from clients.table.form import TableForm
from clients.table.reading import table_from_frame
from clients.table.table import Table
from flower_pansvm.arrays import Bools
from flower_pansvm.errors import TableError
from flower_pansvm.lists import first_of
from flower_pansvm.table_schema import CATEGORY, NUMBER, TableColumn

MANY = 10
"""Rows from which on most cells of a column are not mistaken one by one: the column is written otherwise."""


def known_cells(frame: pd.DataFrame, form: TableForm, name: str) -> tuple[Table, pd.DataFrame]:
    """Read a table to be predicted, in which cells that cannot be used count as missing, and return which these are.

    The frame has the columns that the model needs, the form the model's schema of them. Unknown is text for a number,
    a number that is infinite, too large or outside of the schema's range, or a category that the schema does not
    have. TableError if the table cannot be read, or most cells of a column are unknown.
    """
    if len(frame) == 0:
        raise TableError(f"'{name}' has no rows to predict. Is it the right file?")
    described = {column.name: column for column in form.schema.columns} if form.schema else {}
    columns = [described.get(str(column), TableColumn(str(column))) for column in frame.columns]
    unknown = _unknown(frame, columns, form)
    for column in columns:
        _check_most(unknown[column.name].to_numpy(), frame[column.name], described.get(column.name), name)
    return table_from_frame(_without(frame, unknown), None, name, form), unknown


def _unknown(frame: pd.DataFrame, columns: Sequence[TableColumn], form: TableForm) -> pd.DataFrame:
    """Return the mask of cells that training would refuse: numbers as it reads them, categories by the schema."""
    measured = [column for column in columns if column.kind == NUMBER]
    values, wrong = as_numbers(without_texts(frame, measured, form), form)
    values = without_codes(values, measured)
    wrong |= np.abs(values) > LARGEST
    for index, (column, cells) in enumerate(zip(measured, values.T, strict=True)):
        wrong[:, index] |= column.outside(cells)
    numbers = dict(zip((column.name for column in measured), wrong.T, strict=True))
    return pd.DataFrame(
        {
            # Of a category those that are in none, and not missing.
            column.name: numbers[column.name]
            if column.kind == NUMBER
            else np.isinf(places_of_cells(frame[column.name], column))
            for column in columns
        }
    )


def _without(frame: pd.DataFrame, unknown: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the unknown cells empty."""
    frame = frame.copy()
    for column in frame.columns[unknown.any().to_numpy()]:
        frame[column] = frame[column].astype(object).mask(unknown[column].to_numpy(), None)
    return frame


def _check_most(unknown: Bools, cells: "pd.Series[str]", column: TableColumn | None, name: str) -> None:
    """Check that not most cells of a column are unknown, as where it is written otherwise; else TableError."""
    there = np.count_nonzero(cells.notna())
    if len(cells) < MANY or 2 * np.count_nonzero(unknown) <= there:
        return
    raise TableError(
        f"Most cells in column '{cells.name}' of '{name}' are none that the model knows: it takes {_takes(column)}. "
        "Write them as the tables of the training were written.",
        detail=f"They are {np.count_nonzero(unknown)} of {there}; look at data row {int(np.argmax(unknown)) + 1}.",
    )


def _takes(column: TableColumn | None) -> str:
    if column is not None and column.kind != NUMBER:
        return (
            f"the categories {first_of(column.categories, 10)}" if column.kind == CATEGORY else "yes and no"
        )
    ends = f" from {column.ends[0]:g} to {column.ends[1]:g}" if column is not None and column.ends else ""
    unit = f" in {column.unit}" if column is not None and column.unit else ""
    return f"numbers{ends}{unit} (decimal commas: --decimal ',')"
