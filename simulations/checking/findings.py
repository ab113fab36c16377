"""``pansvm check``: what is wrong with a table, or may be, before a hospital takes part with it.

A finding names columns, rows and shares, and never shows a cell: it may be sent to somebody who helps.
"""

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier

from clients.gate.classes import check_labels
from clients.table.cells import NO_NUMBER, canonical_labels, written
from clients.table.encoding import LIMIT
from clients.table.file import read_frame, read_in_parts
from clients.table.form import TableForm
from clients.table.reading import label_of, table_from_frame
from clients.table.sources.rows import EMPTY_ROWS
from clients.table.table import columns_text
from flower_pansvm.errors import TableError
from flower_pansvm.labels import spelling
from flower_pansvm.table_schema import CATEGORY, NUMBER, TableColumn
from flower_pansvm.terms import MIN_CLUSTER
from simulations.checking.cells import COMMAS, FEW, PERCENT, UNIT, Cells, cells_of
from simulations.checking.sentinels import sentinels

ERROR, WARNING, NOTE = "error", "warning", "note"

GIVES_AWAY = 0.99
"""Balanced accuracy of a small tree on one column above which it gives the label away."""

MOST_ROWS = 5000
"""Rows that are looked at for columns that give the label away."""

MOST_DOUBTED = 20_000
"""Rows of a large table that a run looks at."""

MOST_LINES = 3
"""Lines of a run about what is doubtful."""

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


REMEDIES = {
    COMMAS: "For a comma before the decimals, say decimal=comma (or point); for one between groups of three digits "
    "thousands=comma (or point, blank, apostrophe).",
    PERCENT: "Write the numbers without the sign, at all sites alike.",
    UNIT: "Write the numbers only, all in the unit that the schema file names.",
}
"""What to do about numbers in another form."""

MOST_ALIKE = 3
"""Columns of which the same is said one by one; of more, it is said once."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a table (``error``: it cannot take part), may be, or is worth knowing."""

    level: str
    text: str


@dataclass(frozen=True)
class ColumnFinding:
    """The same of one column: what it is, by how much, and what to do, which is the same for all such columns."""

    level: str
    name: str
    what: str
    how_much: str
    remedy: str

    @property
    def text(self) -> str:
        """The paragraph of a column alone."""
        return f"Column '{self.name}' {self.what}{self.how_much}. {self.remedy}"


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
    return _of_frame(read_frame(path, form), label_of(form.schema, label), path.name, form)


def doubts(path: Path, label: str | None, form: TableForm) -> list[str]:
    """Return the warnings of :func:`findings`, at most three lines: those of a large table from its first rows.

    Errors are not told: reading the table tells them.
    """
    parts = read_in_parts(path, form)
    frame = read_frame(path, form) if parts is None else next(parts[1])
    name = path.name
    form = replace(form, drop=tuple(column for column in form.drop if column in frame.columns))
    found = _of_frame(frame.iloc[:MOST_DOUBTED], label_of(form.schema, label), name, form)
    warnings = [one.text for one in found if one.level == WARNING]
    if len(warnings) > MOST_LINES:
        more = f"{len(warnings) - MOST_LINES + 1} more warnings; 'pansvm check' with the same table tells them all."
        warnings = [*warnings[: MOST_LINES - 1], more]
    return [f"{name}: {text}" for text in warnings]


def _of_frame(frame: pd.DataFrame, label: str, name: str, form: TableForm) -> list[Finding]:
    found: list[Finding] = []
    classes = form.schema.classes if form.schema else ()
    labels = (
        np.array(canonical_labels(frame[label], classes), dtype=object) if label in frame.columns else None
    )
    try:
        labels = table_from_frame(frame, label, name, form).labels
    except TableError as error:
        found.append(Finding(ERROR, error.with_detail()))
    if len(frame) == 0:
        return found
    cells = cells_of(frame, _described(frame, label, form), form)
    found += _grouped([one for own in cells for one in _of_column(own, form)])
    found += _together(cells)
    if labels is not None and all(text is not None for text in labels):
        labels = labels.astype(np.str_)
        found += _of_labels(labels, classes, f"column '{label}' of '{name}'")
        found += _giving_away(cells, labels)
    found += _unknown(frame, label, form)
    empty = frame.attrs.get(EMPTY_ROWS, 0)
    if empty:
        found.append(
            Finding(NOTE, f"Between the rows of '{name}' are {empty} without any cell, which do not count.")
        )
    return sorted(found, key=lambda one: (ERROR, WARNING, NOTE).index(one.level))


def _described(frame: pd.DataFrame, label: str, form: TableForm) -> list[TableColumn]:
    """Return the columns that would be features."""
    if form.schema is not None:
        return [column for column in form.schema.columns if column.name in frame.columns]
    return [TableColumn(str(name)) for name in frame.columns if name not in (label, *form.drop)]


def _grouped(found: list[ColumnFinding]) -> Iterator[Finding]:
    """Return what is said of columns, once where it is the same of many."""
    alike: dict[tuple[str, str], list[ColumnFinding]] = {}
    for one in found:
        alike.setdefault((one.level, one.what), []).append(one)
    for (level, what), several in alike.items():
        if len(several) <= MOST_ALIKE:
            yield from (Finding(level, one.text) for one in several)
            continue
        names, first = columns_text([one.name for one in several]).removeprefix("column "), several[0]
        of_first = "" if all(one.remedy == first.remedy for one in several) else f"Of '{first.name}': "
        yield Finding(level, f"{len(several)} columns, {names}: each {what}. {of_first}{first.remedy}")


def _of_column(cells: Cells, form: TableForm) -> Iterator[ColumnFinding]:
    column = cells.column

    def say(level: str, what: str, remedy: str, how_much: str = "") -> ColumnFinding:
        return ColumnFinding(level, cells.name, what, how_much, remedy)

    rows, there = len(cells.raw), int(cells.there.sum())
    if there == 0:
        yield say(WARNING, "is empty", "Fill it in, or leave it out at all sites.")
        return
    if there < (1 - MOSTLY_EMPTY) * rows:
        yield say(
            WARNING,
            "is empty in nearly all rows",
            "Little can be learnt from it: leave it out at all sites.",
            f" ({1 - there / rows:.0%})",
        )
    if column.kind != CATEGORY and cells.identifies:
        yield say(
            WARNING,
            "looks like one that says who a patient is (an id, a name, a date, a running number)",
            "Leave it out: as patient-id or in leave-out of the schema file, or with --drop. Of a date, export an age "
            "or a number of days.",
        )
    elif column.kind == NUMBER and cells.is_text.any():
        yield say(ERROR, *_of_text(cells))
    elif _is_constant(cells):
        yield say(
            WARNING,
            "is constant: the same in all rows where it is not empty",
            "That tells nothing at this site. If it is so at all sites, leave it out; if it is a mistake of the "
            "export, correct it.",
        )
    if column.kind == NUMBER and cells.is_code and not cells.identifies:
        yield say(
            WARNING,
            "is written as codes are, such as 01, or 1.1 and 1.10, and is read as numbers: two codes may become one",
            'If they are codes, describe it in a schema file as kind = "category".',
        )
    if column.kind == NUMBER and cells.may_be_grouped(form):
        mark, other = ("comma", "point") if form.decimal == "," else ("point", "comma")
        yield say(
            WARNING,
            f"has numbers of three digits after the {mark}, which may be thousands or decimals; they are read as "
            "decimals",
            f"If they are thousands, say thousands={mark} and decimal={other}; if not, thousands=none (pansvm: "
            "--thousands none).",
        )
    if column.kind == NUMBER and cells.is_number:
        yield from _of_numbers(cells)


def _is_constant(cells: Cells) -> bool:
    if not cells.is_number:
        return len(cells.distinct) == 1
    values = cells.values[~np.isnan(cells.values)]
    return bool((values == values[0]).all())


def _of_text(cells: Cells) -> tuple[str, str, str]:
    """Return what is said of text in a column of numbers: what, remedy, and how much."""
    count, there = int(cells.is_text.sum()), int(cells.there.sum())
    how_much = f", in {count} of {there} cells, the first in data row {int(np.argmax(cells.is_text)) + 1}"
    if cells.another_form:
        return f"holds numbers with {cells.another_form}", REMEDIES[cells.another_form], how_much
    if not cells.is_measurement:
        return (
            "holds text",
            'Describe it in a schema file as kind = "category" or "yes/no" (\'pansvm schema\' writes a first one), or '
            "leave it out.",
            how_much,
        )
    known = "|".join(f"{re.escape(word)}$" for word in cells.common_words) or "$"
    remedies, others = [], count - cells.limits - sum(cells.words[word] for word in cells.common_words)
    if cells.limits:
        remedies.append(
            f'{cells.limits} begin with < or >, as a laboratory writes what it cannot measure: below-limit = "half" '
            '(or "limit") says what they count as'
        )
    if cells.common_words:
        remedies.append(
            f"missing = [{', '.join(map(json.dumps, cells.common_words))}] takes words for no value"
        )
    if others:
        wrong = [not re.match(f"{LIMIT}|{known}", written(cell).lower()) for cell in cells.raw[cells.is_text]]
        first = int(np.flatnonzero(cells.is_text)[wrong][0]) + 1
        remedies.append(
            f"{others} are something else, the first in data row {first}: correct what is a typing error, and add what "
            "means no value to missing"
        )
    return (
        "is a measurement with some text",
        f"In the schema file's [columns.{json.dumps(cells.name, ensure_ascii=False)}]: {'; '.join(remedies)}.",
        how_much,
    )


def _of_numbers(cells: Cells) -> Iterator[ColumnFinding]:
    column, codes = cells.column, sentinels(cells.values)
    if codes:
        count = np.count_nonzero(np.isin(cells.values, codes))
        texts = ", ".join(f"{code:g}" for code in codes)
        yield ColumnFinding(
            WARNING,
            cells.name,
            f"holds {texts}",
            f" in {count} rows, far from all its other numbers",
            "Most likely it is a code for a missing cell, which would count as measured. Add it to the schema file: "
            f"missing = [{texts}].",
        )
    if column.ends is None:
        return
    there = cells.values[~np.isnan(cells.values) & ~np.isin(cells.values, codes)]
    outside = np.count_nonzero((there < column.ends[0]) | (there > column.ends[1]))
    if outside:
        unit = f" {column.unit}" if column.unit else ""
        yield ColumnFinding(
            WARNING,
            cells.name,
            "has numbers outside of the schema's range",
            f", {column.ends[0]:g} to {column.ends[1]:g}{unit}: {outside} of {len(there)}",
            _units(there, column.ends, cells.name),
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
    if len(cells) < 2:
        return
    columns = [own.values if own.is_number else pd.factorize(own.texts)[0] for own in cells]
    rows = pd.DataFrame(np.column_stack(columns))
    twice = np.count_nonzero(rows.duplicated())
    if twice:
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
    elif not classes and any(name.lower() in NO_NUMBER for name in counts if "+" not in counts):
        yield Finding(
            WARNING,
            f"The {place} has a class that is called as missing cells often are (None, a point, a dash). If it is one, "
            "list the classes in a schema file; if these labels are missing, leave the rows out.",
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
        if not own.is_number and own.identifies:
            continue
        values = own.values[taken] if own.is_number else _codes(own.texts[taken])
        # By their order, which is all that a tree looks at: missing cells are last, infinite ones no trouble.
        values = np.unique(values, return_inverse=True)[1][:, None]
        if not values.any() or not _may_tell(np.argsort(values[:, 0], kind="stable"), labels[taken], leaf):
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


def _may_tell(order: np.ndarray, labels: np.ndarray, leaf: int) -> bool:
    """Tell quickly whether a tree may tell the labels of rows in this order: of thousands of columns few can.

    Blocks of as many rows as a leaf has at the least are told by their own frequent class; next to an end of a leaf
    they may be wrong.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    weights = 1 / np.bincount(codes)
    starts = np.arange(0, len(order), leaf)
    sides = (codes[order][:, None] == np.arange(len(classes))) * weights
    blocks = np.add.reduceat(sides, starts, axis=0)
    wrong = (blocks.sum() - blocks.max(axis=1).sum()) / len(classes)
    ends = np.sort(blocks.sum(axis=1))[-2 * len(classes) :].sum() / len(classes)
    return bool(wrong <= 1 - GIVES_AWAY + ends / 2)


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
