"""A table's columns as a schema file describes them: numbers, and a column of 0 and 1 for each category."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from clients.table.cells import MISSING, checked_numbers, codes_of, find, first_row, indices_of, parse_numbers
from clients.table.form import TableForm, nearest_text
from clients.table.table import columns_text
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import TableError
from flower_pansvm.labels import canonical_label
from flower_pansvm.table_schema import CATEGORY, HALF, NUMBER, TableColumn, TableSchema

LIMIT = r"^\s*([<>≤≥])=?\s*(.*)$"
"""What is below or above what a laboratory can measure: the sign, and the number."""


def encoded(frame: pd.DataFrame, schema: TableSchema, name: str, form: TableForm) -> Floats:
    """Return a table's features, shape (rows, features), in the order of the schema.

    ``frame`` has cells as text or numbers, and may have further columns; ``name`` is that of the file, for errors, and
    ``form`` the format of numbers in text. TableError if a column is missing, or a cell is not of its column's kind.
    """
    lacking = [column.name for column in schema.columns if column.name not in frame.columns]
    if lacking:
        raise TableError(
            f"'{name}' has no {columns_text(lacking)}, which schema '{schema.name}' describes. Add each missing column "
            "(the cells may be empty), or correct the name.",
            detail=nearest_text(lacking[0], frame.columns),
        )
    measured = [column for column in schema.columns if column.kind == NUMBER]
    texts = without_texts(frame, measured, form)
    X = without_codes(checked_numbers(texts, list(texts.columns), name, form), measured)
    of_number = {column.name: X[:, [index]] for index, column in enumerate(measured)}
    parts = [
        of_number[column.name] if column.kind == NUMBER else _indicators(frame[column.name], column, name)
        for column in schema.columns
    ]
    return np.hstack(parts)


def places_of_cells(cells: "pd.Series[str]", column: TableColumn) -> Floats:
    """Return each cell's index among the categories, or of no and yes: NaN if missing, infinity if unknown."""
    names = column.categories if column.kind == CATEGORY else ("no", "yes")
    codes, texts = codes_of(cells.astype(object))
    indices = category_places(texts, names, column.missing)
    # The last is for cells that pandas takes for missing, which have code -1.
    return np.append(indices, np.nan)[codes]


def _indicators(cells: "pd.Series[str]", column: TableColumn, name: str) -> Floats:
    """Return a yes/no column as 0 and 1, or a category as one such column each; NaN where the cell is missing."""
    indices = places_of_cells(cells, column)
    wrong = np.isinf(indices)
    if wrong.any():
        kind = "none of the schema's categories" if column.kind == CATEGORY else "neither yes nor no"
        raise TableError(
            f"'{name}' has cells in column '{column.name}' that are {kind}. Write them as the schema file does, or add "
            "the category there, at all sites; or add what stands for a missing cell to its 'missing'.",
            detail=f"They are in {np.count_nonzero(wrong)} rows; look at data row {first_row(wrong)}.",
        )
    if column.kind != CATEGORY:
        return np.asarray(indices[:, None], dtype=np.float64)
    indicators: Floats = (indices[:, None] == np.arange(len(column.categories))).astype(np.float64)
    indicators[np.isnan(indices)] = np.nan
    return indicators


def category_places(texts: Iterable[str], names: Sequence[str], missing: Sequence[str]) -> Floats:
    """Return the place of each text among names, NaN for a missing cell, infinity for an unknown text.

    What is written as a name is that, whatever else is missing; then come the codes for missing cells, then the names
    by their spelling.
    """
    indices, codes = indices_of(names), {canonical_label(code).lower() for code in missing}

    def place(text: str) -> float:
        if text not in names and canonical_label(text).lower() in codes:
            return np.nan
        unknown = np.nan if text.lower() in MISSING else np.inf
        return unknown if (index := find(text, indices)) is None else index

    return np.array([place(text) for text in texts], dtype=np.float64)


def without_texts(frame: pd.DataFrame, columns: Sequence[TableColumn], form: TableForm) -> pd.DataFrame:
    """Return columns of numbers without the texts that stand for missing cells, and with a number for ``<5``."""
    names = [column.name for column in columns]
    if not any(column.missing or column.below_limit for column in columns):
        return frame[names]
    return pd.DataFrame({column.name: _without_texts(frame[column.name], column, form) for column in columns})


def without_codes(X: Floats, columns: Sequence[TableColumn]) -> Floats:
    """Return columns of numbers with NaN for each number that stands for a missing cell; ``X`` is changed."""
    for column, cells in zip(columns, X.T, strict=True):
        if column.missing:
            # In single precision, as a file may be: -99.9 is another number there.
            with np.errstate(over="ignore"):
                codes = _numeric_codes(column.missing).astype(np.float32)
                cells[np.isin(cells.astype(np.float32), codes)] = np.nan
    return X


def _without_texts(cells: "pd.Series[str]", column: TableColumn, form: TableForm) -> "pd.Series[str]":
    texts = [code.lower() for code in column.missing if not len(_numeric_codes([code]))]
    if not (texts or column.below_limit) or pd.api.types.is_numeric_dtype(cells.dtype):
        return cells
    cells = cells.astype(object).mask(cells.astype(str).str.strip().str.lower().isin(texts), None)
    limits = cells.astype(str).str.extract(LIMIT)
    is_limit = limits[0].notna().to_numpy(dtype=bool)
    if not column.below_limit or not is_limit.any():
        return cells
    values, _ = parse_numbers(limits[1][is_limit].to_numpy(dtype=object), form)
    below = limits[0][is_limit].isin(("<", "≤")).to_numpy(dtype=bool)
    values = np.where(below & (column.below_limit == HALF), values / 2, values)
    filled, valid = cells.to_numpy(dtype=object, copy=True), ~np.isnan(values)
    # As text, since cells that are all text are the quicker to read.
    filled[np.flatnonzero(is_limit)[valid]] = [
        repr(float(value)).replace(".", form.decimal or ".") for value in values[valid]
    ]
    return pd.Series(filled, index=cells.index)


def _numeric_codes(codes: Sequence[str]) -> Floats:
    values = pd.to_numeric(pd.Series(list(codes), dtype=object), errors="coerce")
    return np.array(values.dropna(), dtype=np.float64)
