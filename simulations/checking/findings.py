"""``pansvm check``: what is wrong with a table, or may be, before a hospital takes part with it.

A finding names columns, rows and shares, and never shows a cell: it may be sent to somebody who helps.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier

from clients.gate.classes import check_labels
from clients.table.file import read_frame
from clients.table.form import TableForm
from clients.table.reading import label_of, table_from_frame
from clients.table.table import columns_text
from flower_pansvm.errors import TableError
from flower_pansvm.labels import spelling
from flower_pansvm.table_schema import CATEGORY, NUMBER, TableColumn
from flower_pansvm.terms import MIN_CLUSTER
from simulations.checking.cells import FEW, Cells, cells_of
from simulations.checking.sentinels import sentinels

ERROR, WARNING, NOTE = "error", "warning", "note"

GIVES_AWAY = 0.99
"""Balanced accuracy of a small tree on one column above which it gives the label away."""

MOST_ROWS = 5000
"""Rows that are looked at for columns that give the label away."""

MOSTLY_EMPTY = 0.95

ALIKE = 0.84
"""How alike the spellings of two labels are, of which one may be a typing error (difflib's ratio)."""

FACTORS = (
    ("gluc|sugar|fbs", 18.016, "mg/dl and mmol/l of glucose"),
    ("chol|hdl|ldl", 38.67, "mg/dl and mmol/l of cholesterol"),
    ("trigl", 88.57, "mg/dl and mmol/l of triglycerides"),
    ("creat|krea", 88.42, "mg/dl and micromol/l of creatinine"),
    ("weight|mass", 2.2046, "pounds and kilograms"),
    ("height|length|size", 2.54, "inches and centimetres"),
    ("", 1000.0, "thousands"),
    ("", 100.0, "percent"),
    ("", 10.0, "tenths"),
)
"""By what numbers in one unit are larger than in another, and the names of columns of which that is known."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a table (``error``: it cannot take part), may be, or is worth knowing."""

    level: str
    text: str


def findings(path: Path, label: str | None, form: TableForm) -> list[Finding]:
    """Return what is to be said of a table, errors first.

    Parameters
    ----------
    path : Path
        As for `clients.table.reading.read_table`.
    label : str or None
        Label column; None for the schema's, or ``label``.
    form : TableForm
        How the file is written, and the schema.

    Raises
    ------
    TableError
        If the file cannot be read at all.
    """
    frame = read_frame(path, form)
    label = label_of(form.schema, label)
    found: list[Finding] = []
    labels = cells_of(frame[label]).texts if label in frame.columns else None
    try:
        labels = table_from_frame(frame, label, path.name, form).labels
    except TableError as error:
        found.append(Finding(ERROR, error.with_detail()))
    if len(frame) == 0:
        return found
    described = _described(frame, label, form)
    cells = [cells_of(frame[one.name], form.decimal, one.missing) for one in described]
    for column, own in zip(described, cells, strict=True):
        found += _of_column(own, column)
    found += _together(cells)
    if labels is not None and all(text is not None for text in labels):
        labels = labels.astype(np.str_)
        place = f"column '{label}' of '{path.name}'"
        found += _of_labels(labels, form.schema.classes if form.schema else (), place)
        found += _giving_away(cells, labels)
    found += _unknown(frame, label, form)
    return sorted(found, key=lambda one: (ERROR, WARNING, NOTE).index(one.level))


def _described(frame: pd.DataFrame, label: str, form: TableForm) -> list[TableColumn]:
    """Return the columns that would be features."""
    if form.schema is not None:
        return [column for column in form.schema.columns if column.name in frame.columns]
    return [TableColumn(str(name)) for name in frame.columns if name not in (label, *form.drop)]


def _of_column(cells: Cells, column: TableColumn) -> Iterator[Finding]:
    name, rows = f"Column '{cells.name}'", len(cells.texts)
    there = int(cells.there.sum())
    if there == 0:
        yield Finding(WARNING, f"{name} is empty. Fill it in, or leave it out at all sites.")
        return
    if there < (1 - MOSTLY_EMPTY) * rows:
        yield Finding(
            WARNING, f"{name} is empty in {1 - there / rows:.0%} of the rows: little can be learnt."
        )
    if len(cells.distinct) == 1:
        yield Finding(
            WARNING,
            f"{name} is constant: the same in all rows where it is not empty. It tells nothing at this site. If it is "
            "so at all sites, leave it out; if it is a mistake of the export, correct it.",
        )
    if column.kind != CATEGORY and cells.identifies:
        yield Finding(
            WARNING,
            f"{name} looks like one that says who a patient is (an id, a name, a date, a running number). Leave it "
            "out: as patient-id or in leave-out of the schema file, or with --drop.",
        )
    if column.kind == NUMBER and cells.is_number:
        yield from _of_numbers(cells, column, name)


def _of_numbers(cells: Cells, column: TableColumn, name: str) -> Iterator[Finding]:
    codes = sentinels(cells.values)
    if codes:
        count = np.count_nonzero(np.isin(cells.values, codes))
        texts = ", ".join(f"{code:g}" for code in codes)
        yield Finding(
            WARNING,
            f"{name} holds {texts} in {count} rows, far from all its other numbers: most likely a code for a missing "
            f"cell, which would count as measured. Add it to the schema file: missing = [{texts}].",
        )
    if column.ends is None:
        return
    there = cells.values[cells.there & ~np.isin(cells.values, codes)]
    outside = np.count_nonzero((there < column.ends[0]) | (there > column.ends[1]))
    if outside:
        yield Finding(
            WARNING,
            f"{name} has {outside} of {len(there)} numbers outside of the schema's range, {column.ends[0]:g} to "
            f"{column.ends[1]:g}{f' {column.unit}' if column.unit else ''}. {_units(there, column.ends, cells.name)}",
        )


def _units(values: np.ndarray, ends: tuple[float, float], name: str) -> str:
    """Return by what unit the numbers would be in the range, if by any."""

    def inside(times: float) -> float:
        return float(np.mean((values * times >= ends[0]) & (values * times <= ends[1])))

    for hint, factor, what in FACTORS:
        for times, verb in ((factor, "multiplied"), (1 / factor, "divided")):
            if inside(1.0) < 0.5 and inside(times) > 0.9 and re.search(hint, name.casefold()):
                return f"They would be inside if they were {verb} by {factor:g} ({what}): are they in another unit?"
    return "Correct them if they are typing errors; if they are right, the range is too narrow, at all sites."


def _together(cells: list[Cells]) -> Iterator[Finding]:
    """Return whether rows are there twice."""
    if not cells:
        return
    rows = pd.DataFrame({number: own.texts for number, own in enumerate(cells)}).astype(str)
    twice = np.count_nonzero(rows.duplicated())
    if twice and len(cells) > 1:
        yield Finding(
            WARNING,
            f"{twice} of {len(rows)} rows are the same as an earlier one in all features. If patients are there twice, "
            "take the copies out: one copy may be trained on and the other tested on.",
        )


def _of_labels(labels: np.ndarray, classes: tuple[str, ...], place: str) -> Iterator[Finding]:
    counts = Counter(labels.tolist())
    if classes:
        wrong = ~np.isin(labels, classes)
        if wrong.any():
            level = ERROR if wrong.all() else WARNING
            yield Finding(
                level,
                f"The {place} has {np.count_nonzero(wrong)} labels that are none of the schema's classes. These rows "
                f"are left out of all runs; the first is data row {int(np.argmax(wrong)) + 1}.",
            )
    else:
        try:
            check_labels(labels, (), place, MIN_CLUSTER)
        except TableError as error:
            yield Finding(ERROR, error.with_detail())
            return
    if len(counts) == 1:
        yield Finding(
            WARNING,
            f"The {place} has one class only. The site can take part, and its test rows then say little. Is a filter "
            "at fault?",
        )
    rare = [name for name, count in counts.items() if count < MIN_CLUSTER]
    if rare and not classes:
        yield Finding(
            WARNING,
            f"The {place} has {len(rare)} labels that fewer than {MIN_CLUSTER} rows have. A site does not name them; "
            "these rows take part only if another site does.",
        )
    for name in rare:
        close = [other for other in counts if counts[other] > counts[name] and _alike(name, other)]
        if close:
            first = int(np.argmax(labels == name)) + 1
            yield Finding(
                WARNING,
                f"The {place} has a rare label that is spelt nearly as a frequent one: a typing error? The first is in "
                f"data row {first}.",
            )


def _alike(one: str, other: str) -> bool:
    short = min(len(one), len(other)) < 4
    return not short and difflib.SequenceMatcher(None, spelling(one), spelling(other)).ratio() >= ALIKE


def _giving_away(cells: list[Cells], labels: np.ndarray) -> Iterator[Finding]:
    """Return which columns alone tell the label, as one that was written down after the diagnosis does."""
    counts = Counter(labels.tolist())
    if len(labels) < FEW or len(counts) < 2 or min(counts.values()) < MIN_CLUSTER:
        return
    taken = np.random.default_rng(0).permutation(len(labels))[:MOST_ROWS]
    leaf = max(MIN_CLUSTER, len(taken) // 100)
    telling = []
    for own in cells:
        values = own.values[taken] if own.is_number else _codes(own.texts[taken])
        # By their order, which is all that a tree looks at: missing cells are last, infinite ones no trouble.
        values = np.unique(values, return_inverse=True)[1][:, None]
        if not values.any() or (not own.is_number and own.identifies):
            continue
        tree = DecisionTreeClassifier(
            max_leaf_nodes=2 * len(counts), min_samples_leaf=leaf, class_weight="balanced", random_state=0
        )
        said = tree.fit(values, labels[taken]).predict(values)
        if balanced_accuracy_score(labels[taken], said) >= GIVES_AWAY:
            telling.append(own.name)
    if telling:
        yield Finding(
            WARNING,
            f"The label can be told from {columns_text(telling)} alone. Was it written down after the diagnosis, or "
            "computed from it? Then leave it out, or the model learns nothing else.",
        )


def _codes(texts: np.ndarray) -> np.ndarray:
    codes, _ = pd.factorize(texts)
    return np.where(codes < 0, np.nan, codes)


def _unknown(frame: pd.DataFrame, label: str, form: TableForm) -> Iterator[Finding]:
    """Return which columns the schema does not have."""
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
        yield Finding(
            NOTE, f"The schema file does not have {columns_text(others)} of the table, which is left out."
        )
