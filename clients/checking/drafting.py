"""``pansvm schema``: a first schema file of a table, that tells nothing of any patient.

Whoever reads the file may know of a patient all but one cell. So nothing in it may hang on a few rows: a category is
written only if many rows have it, and the ends of a column are those of no row. They come from the fifth smallest and
largest number, with room added, rounded outward to a coarse grid; how many rows there are is not written.
"""

import json
import math
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from clients.checking.cells import COMMAS, COMMON, FEW, Cells, cells_of
from clients.checking.labels import unknown_outcomes
from clients.checking.misfits import misfits
from clients.checking.patients import id_columns
from clients.checking.sentinels import LIKELY, codes_beside_scale, sentinels
from clients.checking.texts import LONG, why_not_written
from clients.table.cells import LARGEST
from clients.table.file import read_frame
from clients.table.form import TableForm, nearest_text
from clients.table.table import columns_text
from flower_pansvm.errors import TableError
from flower_pansvm.labels import (
    LABEL_RULE,
    MOST_CLASSES,
    can_be_listed,
    is_number,
    name_problem,
    plain_name,
    spelling,
)
from flower_pansvm.table_schema import CATEGORY, HALF, YES_NO, TableColumn, TableSchema
from flower_pansvm.terms import MIN_CLUSTER

MOST_CATEGORIES = 20
"""A text column with more common texts is left out."""

GRID = (1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)
"""What ends are rounded to, times a power of ten."""

ROOM = 0.25
"""Share of a column's spread that is added at either end."""

UNIT_IN_NAME = re.compile(r"[\[(]([^\])]+)[\])] *$")
"""As in 'CRP [mg/l]'."""

DATES, PAIRS = "dates", "two numbers in a cell: write each into a column of its own"
IDENTIFIES = "says who a patient is, by its name or as nearly all cells differ"
"""Why a column is left out."""

HEAD = """\
# A first schema file, made from the table of one site. Look at every line, and give all sites the same file.
# Ranges are guesses, far rounded: write what the measurement CAN be, from what is known of it and not from the rows.
# Kinds are "number", "category" and "yes/no". Columns that are not described are left out.
# docs/tables.md says more.
"""

STUDY = """# For the report, what no machine can know:
# outcome = ""  # what the label means, and when it is known
# data-source = ""  # where and when the records were made, and of whom
# intended-use = ""  # what the model is for"""


class Draft(NamedTuple):
    """A first schema file."""

    text: str
    # What `pansvm check` will say of rows of the same table, by their number: for the hospital, and not in the file.
    misfits: tuple[str, ...]


def draft(path: Path, label: str, form: TableForm) -> Draft:
    """Return a schema file for a table; TableError if it cannot be read, or has no such label column."""
    frame, label = read_frame(path, form), plain_name(label)
    if label not in frame.columns:
        raise TableError(
            f"'{path.name}' has no label column '{label}'. Name it with --label.",
            nearest_text(label, frame.columns),
        )
    named = [TableColumn(name) for name in frame.columns if name not in (label, *form.drop)]
    columns = [_with_limits(cells, frame, form) for cells in cells_of(frame, named, form)]
    owners = list(id_columns(frame, label))
    commas = [
        cells.name
        for cells in columns
        if cells.another_form == COMMAS
        and not (cells.is_measurement or cells.identifies or cells.name in owners)
    ]
    if commas:
        raise TableError(
            f"'{path.name}' holds numbers with {COMMAS}, which a schema file would leave out as text. For a comma "
            "before the decimals, say decimal=comma (pansvm: --decimal comma); for one between groups of three digits "
            "thousands=comma (or point, blank, apostrophe). If they are codes, --drop the column, and describe it.",
            detail=f"Look at {columns_text(commas)}.",
        )
    left_out = dict.fromkeys(form.drop, "as asked for")
    left_out |= {cells.name: reason for cells in columns if (reason := _why_left_out(cells))}
    for name in owners:
        if COMMAS in left_out.get(name, COMMAS):
            left_out[name] = "repeats as ids do: the patient-id, else describe it"
    lines = [HEAD, f"label = {_toml(label)}"]
    classes, why_not = _classes(cells_of(frame, [TableColumn(label)], form)[0])
    if why_not:
        lines.append(f"# classes = []  # {why_not}: write all that there can be")
    else:
        lines.append(f"classes = [{', '.join(map(_toml, classes))}]")
        lines += [
            f"# {_toml(name)} may mean that nobody knows: leave it out then"
            for name in unknown_outcomes(classes)
        ]
        lines.append("# positive = []  # those that count as positive, to make two classes of all")
    lines.append(STUDY)
    lines += [
        f"# patient-id = {_toml(name)}  # if it says whose each row is: it repeats as ids do"
        for name in owners
    ]
    if left_out:
        lines.append("# No features. The one that says who a row is may be the patient-id.\nleave-out = [")
        lines += [f"    {_toml(name)},  # {reason}" for name, reason in left_out.items()]
        lines.append("]")
    reading = [(key, value) for key, value in form.said.items() if value]
    if reading:
        lines.append(
            "\n# How the file is written; a site whose file is another says so in its node config.\n[reading]"
        )
        lines += [f"{key} = {_toml(value)}" for key, value in reading]
    described = [cells for cells in columns if cells.name not in left_out]
    text = "\n".join([*lines, *map(_column_text, described)]) + "\n"
    if not described:
        return Draft(text, ())
    schema = TableSchema.from_mapping(tomllib.loads(text), "schema")
    return Draft(text, tuple(misfits(frame, schema, replace(form, schema=schema))))


def _with_limits(cells: Cells, frame: pd.DataFrame, form: TableForm) -> Cells:
    """Return a column with its limits read as joining reads them, where they are measurements' and many."""
    if not cells.is_measurement or cells.limits < COMMON:
        return cells
    (read,) = cells_of(frame, [TableColumn(cells.name, below_limit=HALF)], form)
    return read


def _is_category(cells: Cells) -> bool:
    return cells.is_code or not cells.is_measurement


def _why_left_out(cells: Cells) -> str:
    """Return why a column is no feature; empty if it is one."""
    if not cells.is_filled.any() or cells.is_yes_no:
        return ""
    if cells.another_form and not (cells.is_measurement or cells.identifies):
        return f"numbers with {cells.another_form}: write the numbers only, and describe it"
    if cells.is_mostly_numbers and not cells.is_measurement and not cells.is_named_as_id:
        return "numbers, and text in more than a tenth of the cells: 'missing' can list what means nothing"
    refused = np.count_nonzero(cells.is_text | (np.abs(cells.values) > LARGEST))
    if cells.is_measurement and refused > len(cells.is_filled) / 10:
        return f"limits whose decimals have another form, or numbers above {LARGEST:g}: none can be added up"
    if cells.identifies or cells.is_pair:
        return DATES if cells.is_date else PAIRS if cells.is_pair else IDENTIFIES
    return _common_texts(cells, MOST_CATEGORIES)[1] if _is_category(cells) else ""


def _classes(labels: Cells) -> tuple[list[str], str]:
    """Return the classes to be written, or why there are none."""
    classes, why_not = _common_texts(labels, MOST_CLASSES)
    if not why_not and not all(map(can_be_listed, classes)):
        why_not = f"classes are {LABEL_RULE}"
    return classes, why_not


def _common_texts(cells: Cells, most: int) -> tuple[list[str], str]:
    """Return the texts of a column that many rows have, or why they are not written.

    Of spellings of one, such as Ja and ja, the first: a schema file may not name it twice.
    """
    names, counts = np.unique([text for text in cells.texts if text is not None], return_counts=True)
    texts = [str(name) for name in names[counts >= COMMON]]
    spelt = {name if is_number(name) else spelling(name): name for name in reversed(texts)}
    texts = list(spelt.values())[::-1]
    if len(texts) == 1:
        return texts, f"text: one alone is in {COMMON} rows; if an empty cell means no, write no"
    if not texts:
        return texts, f"text: no two are in {COMMON} rows each"
    if len(texts) > most:
        return texts, f"text: more than {most} are in {COMMON} rows each"
    long = LONG if any(name_problem(f"{cells.name}={text}") for text in texts) else ""
    return texts, next(filter(None, map(why_not_written, texts)), long)


def _column_text(cells: Cells) -> str:
    lines = [f"\n[columns.{_toml(cells.name)}]"]
    if cells.is_yes_no:
        lines.append(f'kind = "{YES_NO}"' + "  # if no site has other numbers" * cells.is_number)
    elif _is_category(cells) and cells.is_filled.any():
        lines.append(f'kind = "{CATEGORY}"')
        lines.append(f"categories = [{', '.join(map(_toml, _common_texts(cells, MOST_CATEGORIES)[0]))}]")
        lines.append("# Texts of few rows are not written here: add what else there can be.")
    else:
        named = UNIT_IN_NAME.search(cells.name)
        lines.append(f"unit = {_toml(named[1] if named else '')}")
        lines += _number_lines(cells)
    return "\n".join(lines)


def _number_lines(cells: Cells) -> list[str]:
    possible = np.abs(cells.values) <= LARGEST
    measured, limits = possible & ~cells.is_limit, possible & cells.is_limit
    values = cells.values[measured]
    suspects = sentinels(values)
    codes = [code for code in suspects if np.count_nonzero(values == code) >= COMMON]
    values = np.sort([*values[~np.isin(values, suspects)], *cells.values[limits]])
    missing = [f"{code:g}" for code in codes]
    missing += [_toml(word) for word in cells.common_words if cells.words[word] >= COMMON]
    likely = [f"{code:g}" for code in codes if code in LIKELY]
    doubt = f"  # but not {' and '.join(likely)} if it is measured, as no dose is" if likely else ""
    lines = [f"missing = [{', '.join(missing)}]{doubt}"] if missing else []
    doubtful = [code for code in codes_beside_scale(values) if np.count_nonzero(values == code) >= COMMON]
    if doubtful:
        texts = [f"{code:g}" for code in doubtful]
        both = ", ".join([*missing, *texts])
        lines.append(f"# missing = [{both}]  # if {' and '.join(texts)} mean that nobody knows")
    if cells.column.below_limit:
        lines.append(f'below-limit = "{HALF}"  # <5 counts as 2.5; "limit": as 5')
    if len(values) < FEW or values[MIN_CLUSTER] == values[-MIN_CLUSTER - 1]:
        return [*lines, "# range = [LOW, HIGH]  # too few rows, or too few that differ, to guess one"]
    low, high = values[MIN_CLUSTER - 1], values[-MIN_CLUSTER]
    room = ROOM * (high - low)
    # Whether a column has a negative number may hang on one row as well.
    ends = _outward(low - room if low < 0 else 0.0, -1), _outward(high + room, 1)
    return [*lines, f"range = [{ends[0]:g}, {max(ends[1], ends[0] + 1):g}]  # a guess"]


def _outward(value: float, side: int) -> float:
    """Return the next number of the grid, above a value (side 1) or below it (-1)."""
    if value == 0 or (value < 0) == (side > 0):
        return 0.0
    power = 10.0 ** math.floor(math.log10(abs(value)))
    return side * power * next(step for step in GRID if step * power >= abs(value) * (1 - 1e-12))


def _toml(text: str) -> str:
    """Return a text as TOML writes it, which is as JSON does but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
