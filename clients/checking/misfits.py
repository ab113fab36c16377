"""Rows of a table that do not fit its own first schema file, since the file may not say all that they hold."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from clients.checking.cells import COMMON
from clients.label_check import check_labels
from clients.table.cells import LARGEST, as_numbers, canonical_labels
from clients.table.encoding import places_of_cells, without_texts
from clients.table.form import TableForm
from flower_pansvm.errors import TableError
from flower_pansvm.lists import first_of
from flower_pansvm.table_schema import NUMBER, TableSchema

MOST_NAMED = 20
"""Columns that are named with their rows."""


def misfits(frame: pd.DataFrame, schema: TableSchema, form: TableForm) -> Iterator[str]:
    """Yield what ``pansvm check`` will say of a table with its own first schema file, of rows and how many they are."""
    rows = {name: count for name, count in _wrong_cells(frame, schema, form).items() if count}
    if rows:
        names = [f"'{name}' ({count})" for name, count in rows.items()]
        yield (
            f"'pansvm check' will not take the cells of some rows, of column {first_of(names, MOST_NAMED)}. Texts of "
            f"fewer than {COMMON} rows, and those that may tell of a patient, are not written into a schema file, and "
            "no number is infinite. Add to the file what can be, as a category, in missing or as below-limit; correct "
            "what is a typing error; or leave the column out."
        )
    named = canonical_labels(frame[schema.label], schema.classes)
    labels = [label for label in named if label is not None]
    if len(labels) < len(named):
        yield (
            f"{len(named) - len(labels)} rows have no label, and 'pansvm check' will refuse the table. If that means "
            "no, as of a date of death, write yes and no; else leave them out of it until their outcome is known, or "
            "as a footer (skip-footer)."
        )
    others = np.count_nonzero(~np.isin(labels, schema.classes)) if schema.classes else 0
    if others:
        yield (
            f"The labels of {others} rows are not among the classes: a label of fewer than {COMMON} rows is not "
            "written into a schema file. These rows have no part in any run, unless you add their label to classes."
        )
    if not schema.classes:
        try:
            check_labels(np.array(labels, dtype=np.str_), (), f"label column '{schema.label}'", 1)
        except TableError as error:
            yield f"'pansvm check' will refuse the labels. {error}"


def _wrong_cells(frame: pd.DataFrame, schema: TableSchema, form: TableForm) -> dict[str, int]:
    """Return the number of cells of each column that joining would refuse."""
    measured = [column for column in schema.columns if column.kind == NUMBER]
    values, is_text = as_numbers(without_texts(frame, measured, form), form)
    wrong = np.count_nonzero(is_text | (np.abs(values) > LARGEST), axis=0)
    numbers = dict(zip((column.name for column in measured), wrong.tolist(), strict=True))
    return {
        column.name: numbers[column.name]
        if column.kind == NUMBER
        else int(np.isinf(places_of_cells(frame[column.name], column)).sum())
        for column in schema.columns
    }
