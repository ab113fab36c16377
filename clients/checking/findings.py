"""``pansvm check``: what is wrong with a table, or may be, before a hospital takes part with it.

A finding names columns, rows and shares. Of cells it shows numbers of many rows that may be codes for missing ones, and
classes: who sends it to somebody who helps reads it first.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from clients.checking.cells import cells_of
from clients.checking.columns import column_findings
from clients.checking.copies import copy_findings
from clients.checking.finding import ERROR, NOTE, WARNING, Finding, note, warning
from clients.checking.labels import label_findings, leak_findings, left_out_findings
from clients.checking.patients import patient_findings
from clients.checking.perturbation import level_findings
from clients.patients import patient_numbers
from clients.table.cells import canonical_labels
from clients.table.file import read_frame, read_in_parts
from clients.table.form import TableForm
from clients.table.reading import label_of, table_from_frame
from clients.table.sources.rows import EMPTY_ROWS
from clients.table.table import Table, columns_text
from clients.table.units import check_units
from flower_pansvm.errors import TableError
from flower_pansvm.table_schema import TableColumn

MOST_DOUBTED = 20_000
"""Rows of a large table that a run looks at."""

MOST_LINES = 3
"""Lines of a run about what is doubtful."""


def findings(path: Path, label: str | None, form: TableForm) -> list[Finding]:
    """Return the findings about a table, errors first; TableError if the file cannot be read at all.

    The label column is by default the schema's, or ``label``; ``form`` says how the file is written.
    """
    frame, label = read_frame(path, form), label_of(form.schema, label)
    table, all_findings = _read(frame, label, path.name, form)
    all_findings += _frame_findings(frame, table, label, path.name, form)
    try:
        all_findings += level_findings(table, form.schema) if table is not None else []
    except TableError as error:
        all_findings.append(warning(f"Level perturbed refuses this table. {error.detail or error}"))
    return sorted(all_findings, key=lambda finding: (ERROR, WARNING, NOTE).index(finding.level))


def table_warnings(path: Path, label: str | None, form: TableForm) -> list[str]:
    """Return the warnings of a table, at most three: those of a large table from its first rows.

    Errors are not told: reading the table tells them. Nor is the level: a run and a hospital know which one it is.
    """
    parts = read_in_parts(path, form)
    frame = read_frame(path, form) if parts is None else next(parts[1])
    frame, name, label = frame.iloc[:MOST_DOUBTED], path.name, label_of(form.schema, label)
    form = replace(form, drop=tuple(column for column in form.drop if column in frame.columns))
    table, _ = _read(frame, label, name, form)
    warnings = [f.text for f in _frame_findings(frame, table, label, name, form) if f.level == WARNING]
    if len(warnings) > MOST_LINES:
        more = f"{len(warnings) - MOST_LINES + 1} more warnings; 'pansvm check' with the same table tells them all."
        warnings = [*warnings[: MOST_LINES - 1], more]
    return warnings


def _read(frame: pd.DataFrame, label: str, name: str, form: TableForm) -> tuple[Table | None, list[Finding]]:
    """Return the table, or None and why it would be refused."""
    try:
        table = table_from_frame(frame, label, name, form)
        check_units(table, form.schema, name)
    except TableError as error:
        return None, [Finding(ERROR, error.with_detail())]
    return table, []


def _frame_findings(
    frame: pd.DataFrame, table: Table | None, label: str, name: str, form: TableForm
) -> list[Finding]:
    """Return the findings about a table, a subject after the other."""
    if len(frame) == 0:
        return []
    whose = form.schema.patient_id if form.schema else ""
    column = f"column '{label}' of '{name}'"
    cells = cells_of(frame, _described(frame, label, form), form)
    labels = _labels(frame, table, label, form)
    # The first lines are those that a run shows.
    shown = [] if labels is None else [*left_out_findings(labels, form.schema, column)]
    shown += patient_findings(frame, label, form)
    if labels is not None:
        patients = np.arange(len(labels)) if table is None else patient_numbers(table)
        shown += [*leak_findings(cells, labels), *label_findings(labels, form.schema, column, patients)]
    return [
        *shown,
        *copy_findings(cells, canonical_labels(frame[whose]) if whose in frame.columns else None),
        *column_findings(cells),
        *_unknown_columns(frame, label, form),
        *_empty_rows(frame, name),
    ]


def _described(frame: pd.DataFrame, label: str, form: TableForm) -> list[TableColumn]:
    """Return the columns that would be features."""
    if form.schema is not None:
        return [column for column in form.schema.columns if column.name in frame.columns]
    return [TableColumn(str(name)) for name in frame.columns if name not in (label, *form.drop)]


def _labels(frame: pd.DataFrame, table: Table | None, label: str, form: TableForm) -> np.ndarray | None:
    """Return the label of each row, also where the table cannot be read; None if one is missing."""
    if table is not None:
        return table.labels
    if label not in frame.columns:
        return None
    texts = canonical_labels(frame[label], form.schema.classes if form.schema else ())
    return None if None in texts else np.array(texts, dtype=np.str_)


def _unknown_columns(frame: pd.DataFrame, label: str, form: TableForm) -> Iterator[Finding]:
    """Return the columns that the schema does not have."""
    schema = form.schema
    if schema is None:
        return
    known = {column.name for column in schema.columns} | {
        label,
        schema.patient_id,
        *schema.leave_out,
        *form.drop,
    }
    others = [str(name) for name in frame.columns if name not in known]
    if others:
        yield note(f"The schema file does not have {columns_text(others)} of the table, which is left out.")


def _empty_rows(frame: pd.DataFrame, name: str) -> Iterator[Finding]:
    empty = frame.attrs.get(EMPTY_ROWS, 0)
    if empty:
        yield note(f"Of the rows of '{name}', {empty} are empty or the column names again, and do not count.")
