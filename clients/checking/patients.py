"""Several rows of one patient: what the schema file says of them, and which column may say it where the file does not.

Rows of a patient on both sides of a split make figures too good: with six visits each, the labels drawn by a coin, a
model was right for 93 % of the test rows and for 53 % of new patients.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np
import pandas as pd

from clients.checking.finding import NOTE, WARNING, Finding
from clients.table.cells import canonical_labels
from clients.table.form import TableForm
from flower_pansvm.arrays import Ints

FEW = 20
"""Rows, and different texts, below which nothing is said of how texts repeat."""

REPEATED = 0.02
"""Share of rows whose text an earlier one has, at the least."""

LARGE = 0.1
"""Share of the rows above which one patient's are too many."""

MOST_COLUMNS = 1000
"""Of a wider table only columns are looked at whose name is that of an id."""

WHO = (
    "patient(en|e)?|pat|subject|subj|person|participant|proband(en)?|case|fall|record|individual|member|donor|study|"
    "studien|paciente|paziente"
)
NUMBER = "id|identifier|no|nr|num|number|nummer|code|key|kennung|num[eé]ro|número|codice|c[oó]digo"
NAMES = re.compile(
    rf"({WHO})s?([ _.-]*({NUMBER})[.]?)?|({NUMBER})[ _.-]*((de|du|del)[ _.-]*)?({WHO})|"
    "(.*[ _.-])?(ids?|mrn|pid|ssn|nhs|ipp|nip|pseudonym|patnr|patid)"
)
"""Names of columns that say whose a row is, in small letters."""

LEADING_ZEROS = re.compile("(?<![0-9.,])0+(?=[0-9])")

ALIKE, MORE, DIFFERENT = 0.95, 0.8, 10
"""Share of pairs of rows of one id that agree in a column of few values, such as sex; by how much of what chance leaves
this is more than chance; and how many pairs would differ by chance."""


def of_patients(frame: pd.DataFrame, label: str, form: TableForm) -> Iterator[Finding]:
    """Return what is said of rows and patients."""
    schema = form.schema
    if schema is None or not schema.patient_id:
        for name in candidates(frame, label):
            yield Finding(
                WARNING,
                f"Column '{name}' repeats as ids do: does it say whose each row is? Then write patient-id = \"{name}\" "
                "into the schema file ('pansvm schema' writes a first one). Without it each row counts as a patient: "
                "rows of one patient are trained on and tested on, and all figures are too good.",
            )
    elif schema.patient_id in frame.columns:
        ids = frame[schema.patient_id]
        yield from _of_rows(_numbers(ids), schema.patient_id)
        yield from _spelt_otherwise(canonical_labels(ids), schema.patient_id)


def _of_rows(numbers: Ints, name: str) -> Iterator[Finding]:
    counts = np.bincount(numbers[numbers >= 0])
    rows, most = int(counts.sum()), int(counts.max(initial=0))
    if rows > len(counts):
        yield Finding(
            NOTE,
            f"The {rows} rows are of {len(counts)} patients by '{name}', at most {most} of one. Rows of a patient are "
            "on one side of the split. At level dp, rows-per-patient of them take part: one, unless the run says more.",
        )
    elif rows >= FEW:
        yield Finding(NOTE, another_in_every_row(name, rows))
    if rows >= FEW and most > max(LARGE * rows, 2):
        yield Finding(
            WARNING,
            f"One patient has {most} of the {rows} rows by '{name}', and weighs as much in training and test. Does the "
            "text stand for patients who are not known? Leave these rows out, or give each patient an id.",
        )


def another_in_every_row(name: str, rows: int) -> str:
    """Return what is said of a column of patients' ids that may be of rows."""
    return (
        f"'{name}' has another text in every one of {rows} rows, as an id of rows has: no patient has two of them by "
        "it. If some have, name the column of their ids as patient-id, or all figures are too good; if each patient "
        "has one row, all is well."
    )


def _spelt_otherwise(ids: Sequence[str | None], name: str) -> Iterator[Finding]:
    """Return whether two ids differ only as a program or a habit writes them: P01 and p01, 7 and 007."""
    first: dict[str, int] = {}
    for row, text in enumerate(ids):
        if text is not None:
            first.setdefault(text, row + 1)
    seen: set[str] = set()
    others = []
    for text, row in first.items():
        plain = LEADING_ZEROS.sub("", "".join(text.casefold().split()))
        others += [row] if plain in seen else []
        seen.add(plain)
    if others:
        yield Finding(
            WARNING,
            f"{len(others)} ids in '{name}' differ from another one only in upper and lower case, blanks or leading "
            f"zeros; the first is in data row {others[0]}. Each counts as a patient. If they are the same "
            "patients, write them alike, or their rows are trained on and tested on.",
        )


def candidates(frame: pd.DataFrame, label: str) -> Iterator[str]:
    """Yield the columns that repeat as ids do."""
    wide, few = frame.shape[1] > MOST_COLUMNS, None

    @cache
    def numbers_of(name: str) -> Ints:
        return _numbers(frame[name])

    for name in map(str, frame.columns):
        named = NAMES.fullmatch(re.sub("([a-z])([A-Z])", r"\1_\2", name).casefold()) is not None
        if name == label or (wide and not named):
            continue
        cells = frame[name]
        if pd.api.types.is_float_dtype(cells.dtype) and (cells.dropna() % 1 != 0).any():
            continue
        numbers = numbers_of(name)
        counts = np.bincount(numbers[numbers >= 0])
        rows, repeated = int(counts.sum()), int(counts.sum()) - len(counts)
        if min(rows, len(counts)) < FEW or repeated < max(REPEATED * rows, 2):
            continue
        if not named:
            few = _of_few_texts(map(numbers_of, frame.columns)) if few is None else few
        if named or (_is_code(cells) and _goes_together(numbers, few or [])):
            yield name


def _numbers(cells: "pd.Series[str]") -> Ints:
    """Return a number for each text, -1 for a missing one."""
    found: Ints = pd.factorize(np.array(canonical_labels(cells), dtype=object))[0]
    return found


def _is_code(cells: "pd.Series[str]") -> bool:
    """Tell whether texts or whole numbers are written as ids are: with digits, but neither decimals nor dates."""
    texts = pd.Series([text for text in canonical_labels(cells.drop_duplicates()) if text is not None])
    return bool(
        texts.str.contains(r"\d").mean() > 0.9
        and not texts.str.contains(r"^[+-]?\d*[.,]\d+$|\d[-./]\d{1,2}[-./]\d").any()
    )


def _of_few_texts(columns: Iterable[Ints]) -> list[Ints]:
    """Return the columns with 2 to 10 different texts, the label among them, as numbers."""
    return [numbers for numbers in columns if 2 <= numbers.max(initial=-1) + 1 <= 10]


def _goes_together(numbers: Ints, few: list[Ints]) -> bool:
    """Tell whether rows of the same id agree in some column far more often than any two rows do."""
    order = np.argsort(numbers, kind="stable")
    pairs = np.flatnonzero((np.diff(numbers[order]) == 0) & (numbers[order][1:] >= 0))
    if len(pairs) < FEW:
        return False
    for values in few:
        # Missing ones agree, too.
        chance = float(np.square(np.bincount(values + 1) / len(values)).sum())
        agree = float(np.mean(values[order][pairs] == values[order][pairs + 1]))
        if (
            agree >= ALIKE
            and agree - chance >= MORE * (1 - chance)
            and len(pairs) * (1 - chance) >= DIFFERENT
        ):
            return True
    return False
