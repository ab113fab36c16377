"""Cells that a model does not know, such as a new category: training refuses their table, prediction only them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from clients.table.form import TableForm
from clients.table.reading import table_from_frame
from clients.table.table import Table
from flower_pansvm.arrays import Bools, Ints
from flower_pansvm.errors import TableError
from flower_pansvm.table_schema import CATEGORY, NUMBER, TableColumn

MANY = 10
"""Rows from which on most cells of a column are not mistaken one by one: the column is written otherwise."""

SAMPLE = 100
"""Different cells that are tried before all are."""


def known_cells(frame: pd.DataFrame, form: TableForm, name: str) -> tuple[Table, pd.DataFrame]:
    """Read a table to be predicted, in which cells that cannot be used count as missing.

    Parameters
    ----------
    frame : DataFrame
        The columns that the model needs.
    form : TableForm
        How numbers are written, and the model's schema of these columns.
    name : str
        What the frame was read from, for errors.

    Returns
    -------
    Table
        The table.
    DataFrame
        Which cells were unknown, as true and false: text for a number, a number that is infinite, too large or outside
        of the schema's range, or a category that the schema does not have.

    Raises
    ------
    TableError
        If the table cannot be read, or most cells of a column are unknown.
    """
    if len(frame) == 0:
        raise TableError(f"'{name}' has no rows to predict. Is it the right file?")
    unknown = pd.DataFrame(np.zeros(frame.shape, dtype=np.bool_), columns=frame.columns)
    columns = {column.name: column for column in form.schema.columns} if form.schema else {}
    try:
        table = table_from_frame(frame, None, name, form)
    except TableError:
        for column in columns or frame.columns:
            if column in frame.columns:
                unknown[column] = _refused(frame[column], columns.get(column), form, name)
        table = table_from_frame(_without(frame, unknown), None, name, form)
    outside = {column.name: _outside(table, column) for column in columns.values() if column.ends is not None}
    for column, cells in outside.items():
        unknown[column] |= cells
    for column in frame.columns[unknown.any().to_numpy()]:
        _check_most(unknown[column].to_numpy(), frame[column], columns.get(column), name)
    if any(cells.any() for cells in outside.values()):
        table = table_from_frame(_without(frame, unknown), None, name, form)
    return table, unknown


def _without(frame: pd.DataFrame, unknown: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the unknown cells empty."""
    frame = frame.copy()
    for column in frame.columns[unknown.any().to_numpy()]:
        frame[column] = frame[column].astype(object).mask(unknown[column].to_numpy(), None)
    return frame


def _outside(table: Table, column: TableColumn) -> Bools:
    """Return which cells of a column of numbers are outside of its range."""
    assert column.ends is not None
    cells = table.X[:, table.columns.index(column.name)]
    outside: Bools = (cells < column.ends[0]) | (cells > column.ends[1])
    return outside


def _refused(cells: "pd.Series[str]", column: TableColumn | None, form: TableForm, name: str) -> Bools:
    """Return which cells of a column cannot be read."""
    own = (
        form
        if form.schema is None or column is None
        else replace(form, schema=replace(form.schema, columns=(column,)))
    )
    codes, different = pd.factorize(cells.astype(object))

    def can_be_read(places: Ints) -> bool:
        try:
            table_from_frame(pd.DataFrame({cells.name: different[places]}), None, name, own)
        except TableError:
            return False
        return True

    every = np.arange(len(different))
    if len(every) == 0 or can_be_read(every):
        return np.zeros(len(cells), dtype=np.bool_)
    if len(every) > 2 * SAMPLE:
        sample = np.random.default_rng(0).choice(every, SAMPLE, replace=False)
        if 2 * sum(not can_be_read(sample[[place]]) for place in range(SAMPLE)) > SAMPLE:
            return codes >= 0
    return np.isin(codes, _those_refused(every, can_be_read))


def _those_refused(places: Ints, can_be_read: Callable[[Ints], bool]) -> list[int]:
    """Return the places that cannot be read, by halves."""
    if can_be_read(places):
        return []
    if len(places) == 1:
        return [int(places[0])]
    half = len(places) // 2
    return _those_refused(places[:half], can_be_read) + _those_refused(places[half:], can_be_read)


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
        return f"the categories {_some(column.categories)}" if column.kind == CATEGORY else "yes and no"
    ends = f" from {column.ends[0]:g} to {column.ends[1]:g}" if column is not None and column.ends else ""
    unit = f" in {column.unit}" if column is not None and column.unit else ""
    return f"numbers{ends}{unit} (decimal commas: --decimal ',')"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
