"""Cells as labels and as numbers. What is neither is an error, which names columns and rows and shows no cell."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clients.table.form import TableForm
from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.errors import TableError
from flower_pansvm.labels import canonical_label, spelling
from flower_pansvm.reading_options import NO_THOUSANDS

MISSING = ("", "na", "nan", "nat", "?", "n/a", "#n/a", "<na>", "null")
"""Texts that mean a missing cell, in lower case."""

NO_NUMBER = ("none", ".", "-")
"""What is missing among numbers. Elsewhere it may be a category or a class."""

CELLS_AT_ONCE = 1_000_000
"""Cells of text that are turned into numbers at a time."""

LARGEST = 1e12
"""Largest number of a table: sums of squares of larger ones would not fit, and nothing that is measured is larger."""


def canonical_labels(column: "pd.Series[str]", classes: Sequence[str] = ()) -> list[str | None]:
    """Return each cell of a column of labels in canonical form, None for a missing one.

    What is one of the known ``classes``, or spelt so, is that class. No other row decides what a cell is: at level dp
    one row more must not change what the others are.
    """
    # Missing ones are in the last place.
    (codes, texts), classes_by_name = codes_of(column), indices_of(classes)
    indices = [find(text, classes_by_name) for text in texts]
    labels = [
        classes[index] if index is not None else None if text.lower() in MISSING else canonical_label(text)
        for index, text in zip(indices, texts, strict=True)
    ]
    return [*map([*labels, None].__getitem__, codes.tolist())]


def codes_of(column: "pd.Series[Any]") -> tuple[Ints, list[str]]:
    """Return the code of each cell, -1 for a missing one, and of each code the text: a million rows have few labels."""
    if pd.api.types.infer_dtype(column).startswith(("mixed", "decimal")):
        # True, 1 and 1.0 are equal, as 1.5 and 1.50 are: how the first row writes them would be how all rows do.
        column = column.map(text_of, na_action="ignore")
    codes, different = pd.factorize(column)
    return codes, [*map(text_of, different)]


def indices_of(names: Sequence[str]) -> dict[str, int]:
    """Return the place of each name, and of whatever has the spelling of just one."""
    spellings = [spelling(name) for name in names]
    times = Counter(spellings)
    spelt = {text: index for index, text in enumerate(spellings) if times[text] == 1}
    return spelt | {name: index for index, name in enumerate(names)}


def find(text: str, indices: Mapping[str, int]) -> int | None:
    """Return the index of a text as it is written, else by its spelling; None if it has none, or may have several."""
    return indices.get(text, indices.get(spelling(text)))


def text_of(cell: object) -> str:
    """Return a cell as text, without blanks around it and in Unicode's composed form."""
    return unicodedata.normalize("NFC", str(cell).strip())


def checked_numbers(frame: pd.DataFrame, columns: Sequence[str], name: str, form: TableForm) -> Floats:
    """Return the cells, text or numbers, as numbers, shape (rows, columns).

    A missing cell is NaN; true and false are 1 and 0. ``columns`` are their names, ``name`` is that of the file, for
    errors, and ``form`` the format of numbers in text. TableError if a cell is text, infinite, or larger than
    `LARGEST`.
    """
    X, is_text = as_numbers(frame, form)
    if is_text.any():
        raise TableError(
            f"'{name}' holds text or a date where a number is needed. 'pansvm check' shows for each column what would "
            "settle it: categories, missing or below-limit in the schema file, other decimal or thousands, or leaving "
            "it out. If it is the label column, name it as such.",
            detail=_where(is_text, columns),
        )
    if np.isinf(X).any():
        raise TableError(
            f"'{name}' holds an infinite number. Correct it, or leave the cell empty if its value is not known.",
            detail=_where(np.isinf(X), columns),
        )
    wrong = np.abs(X) > LARGEST
    if wrong.any():
        column = columns[int(np.argmax(wrong.any(axis=0)))]
        raise TableError(
            f"'{name}' holds a number above {LARGEST:g} in column '{column}', too large to add up. Is it mistyped, "
            "or does the column hold ids? Correct it, or leave the column out.",
            detail=_where(wrong, columns),
        )
    return X


def as_numbers(frame: pd.DataFrame, form: TableForm) -> tuple[Floats, Bools]:
    """Return the cells as numbers, NaN for a missing one, and which are text, each of shape (rows, columns)."""
    real = [pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "c" for dtype in frame.dtypes]
    numeric = np.array(real, dtype=np.bool_)
    X, is_text = np.empty(frame.shape), np.zeros(frame.shape, dtype=bool)
    X[:, numeric] = frame.loc[:, numeric].to_numpy(dtype=np.float64, na_value=np.nan)
    # Many columns at once, for tables of genes have thousands and few rows; but not all rows: each step of the way
    # from text to number makes a copy that is several times as large as the numbers.
    texts = frame.loc[:, ~numeric]
    step = max(1, CELLS_AT_ONCE // max(1, texts.shape[1]))
    for start in range(0, len(texts), step):
        rows = slice(start, start + step)
        cells = texts.iloc[rows].to_numpy(dtype=object)
        X[rows, ~numeric], is_text[rows, ~numeric] = parse_numbers(cells, form)
    return X, is_text


def first_row(wrong: Bools) -> int:
    """Return the number of the first of some rows, counted from 1."""
    return int(np.argmax(wrong)) + 1


def parse_numbers(texts: NDArray[np.object_], form: TableForm) -> tuple[Floats, Bools]:
    """Return texts as numbers, a missing one as NaN, and which are neither."""
    cells, parsed = texts.ravel(), np.full(texts.size, np.nan)
    # Nearly all cells of nearly all tables are numbers as they stand; only the others are looked at one by one.
    if form.decimal != "," and pd.api.types.infer_dtype(cells, skipna=False) == "string":
        parsed = np.asarray(pd.to_numeric(cells, errors="coerce"), dtype=np.float64)
    odd, is_text = np.isnan(parsed), np.zeros(texts.size, dtype=np.bool_)
    parsed[odd], is_text[odd] = _parse_odd(cells[odd], form)
    return parsed.reshape(texts.shape), is_text.reshape(texts.shape)


def _parse_odd(texts: NDArray[np.object_], form: TableForm) -> tuple[Floats, Bools]:
    """Return numbers and the mask of text of cells of mixed type, each of shape (cells,)."""
    cells = pd.Series(texts, dtype=object)
    absent = cells.isna()
    is_written = cells.map(lambda cell: isinstance(cell, str)).to_numpy(dtype=np.bool_)
    cells = cells.astype(str).str.strip().str.lower().replace({"true": "1", "false": "0"})
    absent |= cells.isin((*MISSING, *NO_NUMBER))
    if form.thousands not in ("", NO_THOUSANDS):
        mark = r"[ \u00a0\u202f]" if form.thousands == " " else re.escape(form.thousands)
        pattern = rf"[+-]?[0-9]{{1,3}}({mark}[0-9]{{3}})+([.,][0-9]*)?"
        grouped = cells.str.fullmatch(pattern).to_numpy(dtype=bool)
        cells = cells.mask(is_written & grouped, cells.str.replace(mark, "", regex=True))
    ambiguous = np.zeros(len(cells), dtype=np.bool_)
    if form.decimal == ",":
        # 1.234 may be a thousand or one: it is taken for neither.
        ambiguous = is_written & cells.str.contains(".", regex=False).to_numpy(dtype=np.bool_)
        cells = cells.mask(is_written, cells.str.replace(",", ".", regex=False))
    parsed = pd.to_numeric(cells.mask(absent), errors="coerce").to_numpy(dtype=np.float64)
    return parsed, (np.isnan(parsed) | ambiguous) & ~absent.to_numpy()


def _where(wrong: Bools, columns: Sequence[str]) -> str:
    """Return where the first wrong cell of the first affected column is, and how many columns have one."""
    affected = np.flatnonzero(wrong.any(axis=0))
    more = f" (and {len(affected) - 1} more columns)" if len(affected) > 1 else ""
    in_first = wrong[:, affected[0]]
    return (
        f"Look at column '{columns[affected[0]]}', data row {first_row(in_first)}{more}. It has "
        f"{np.count_nonzero(in_first)} such cells in {len(in_first)} rows."
    )
