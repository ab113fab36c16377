"""A table's columns as a schema file describes them: numbers, and a column of 0 and 1 for each category."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clients.table.cells import canonical_labels, first_row, numbers
from clients.table.table import columns_text, nearest_text
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import TableError
from flower_pansvm.labels import spelling
from flower_pansvm.table_schema import CATEGORY, NUMBER, TableColumn, TableSchema, place_of

YES_NO_PLACES = place_of(("no", "yes"))


def encoded(frame: pd.DataFrame, schema: TableSchema, name: str, decimal: str) -> Floats:
    """Return a table's features, shape (rows, features), in the order of the schema.

    Parameters
    ----------
    frame : DataFrame
        Cells as text or numbers. Columns that the schema does not have are not looked at.
    schema : TableSchema
        The columns.
    name : str
        What the frame was read from, for errors.
    decimal : str
        What a number has before its decimals where it is text.

    Raises
    ------
    TableError
        If a column is not there, or a cell is not of its column's kind.
    """
    lacking = [column.name for column in schema.columns if column.name not in frame.columns]
    if lacking:
        raise TableError(
            f"'{name}' has no {columns_text(lacking)}, which schema '{schema.name}' describes. Add what is missing "
            "(the cells may be empty), or correct the name.",
            detail=nearest_text(lacking[0], frame.columns),
        )
    measured = [column for column in schema.columns if column.kind == NUMBER]
    texts = pd.DataFrame({column.name: _without_codes(frame[column.name], column) for column in measured})
    X = numbers(texts, [column.name for column in measured], name, decimal)
    for column, cells in zip(measured, X.T, strict=True):
        cells[np.isin(cells, _as_numbers(column.missing))] = np.nan
    of_number = {column.name: X[:, [place]] for place, column in enumerate(measured)}
    parts = [
        of_number[column.name] if column.kind == NUMBER else _sides(frame[column.name], column, name)
        for column in schema.columns
    ]
    return np.hstack(parts)


def _sides(cells: "pd.Series[str]", column: TableColumn, name: str) -> Floats:
    """Return a yes/no column as 0 and 1, or a category as one such column each; NaN where the cell is missing."""
    places = YES_NO_PLACES if column.kind != CATEGORY else place_of(column.categories)
    codes, different = pd.factorize(cells.astype(object))
    found = _places(canonical_labels(pd.Series(different, dtype=object)), places, column.missing)
    # The last is for cells that pandas takes for missing, which have code -1.
    place = np.append(found, np.nan)[codes]
    wrong = np.isinf(place)
    if wrong.any():
        kind = "none of the schema's categories" if column.kind == CATEGORY else "neither yes nor no"
        raise TableError(
            f"'{name}' has cells in column '{column.name}' that are {kind}. Write them as the schema file does, or add "
            "the category there, at all sites; or add what stands for a missing cell to its 'missing'.",
            detail=f"They are in {np.count_nonzero(wrong)} rows; look at data row {first_row(wrong)}.",
        )
    if column.kind != CATEGORY:
        return np.asarray(place[:, None], dtype=np.float64)
    sides: Floats = (place[:, None] == np.arange(len(column.categories))).astype(np.float64)
    sides[np.isnan(place)] = np.nan
    return sides


def _places(texts: Sequence[str | None], places: dict[str, int], missing: Sequence[str]) -> Floats:
    """Return the place of each text, NaN for one that is missing, infinity for one that has none."""
    known = [None if text is None else places.get(text, places.get(spelling(text))) for text in texts]
    return np.array(
        [
            np.nan if text is None or text in missing else np.inf if place is None else place
            for text, place in zip(texts, known, strict=True)
        ],
        dtype=np.float64,
    )


def _without_codes(cells: "pd.Series[str]", column: TableColumn) -> "pd.Series[str]":
    """Return a column of numbers without the texts that stand for missing cells."""
    texts = [code.lower() for code in column.missing if not len(_as_numbers([code]))]
    if not texts or pd.api.types.is_numeric_dtype(cells.dtype):
        return cells
    return cells.mask(cells.astype(str).str.strip().str.lower().isin(texts), None)


def _as_numbers(codes: Sequence[str]) -> NDArray[np.float64]:
    found: Floats = pd.to_numeric(pd.Series(list(codes), dtype=object), errors="coerce").to_numpy(dtype=float)
    return np.asarray(found[~np.isnan(found)], dtype=np.float64)


def check_units(X: Floats, schema: TableSchema, name: str) -> None:
    """Check that not most numbers of a column are outside of its range, as they are in another unit; else TableError.

    ``X``, shape (rows, features), are all of a table's features, in the order of the schema.
    """
    for column in schema.columns:
        if column.kind != NUMBER or column.ends is None:
            continue
        cells = X[:, schema.features.index(column.name)]
        outside = np.count_nonzero((cells < column.ends[0]) | (cells > column.ends[1]))
        if outside > np.count_nonzero(~np.isnan(cells)) / 2:
            unit = f" in {column.unit}" if column.unit else ""
            raise TableError(
                f"Most numbers in column '{column.name}' of '{name}' are outside of the range that the schema file "
                f"gives, {column.ends[0]:g} to {column.ends[1]:g}{unit}. Are they in another unit? Convert them, or "
                "correct the schema file at all sites."
            )
