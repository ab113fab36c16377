"""Several rows of one patient: what the schema file says of them, and which column may say it where the file does not.

Rows of a patient on both sides of a split make figures too good: with six visits each, the labels drawn by a coin, a
model was right for 93 % of the test rows and for 53 % of new patients.
"""

import math
import re
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import pandas as pd

from clients.checking.finding import Finding, note, warning
from clients.table.cells import canonical_labels
from clients.table.form import TableForm
from flower_pansvm.arrays import Floats, Ints

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

OF_OTHERS = re.compile(
    "zip|post|plz|doctor|physician|arzt|m[eé]d[ei]co|doktor|hospital|klinik|hastane|cent(er|re)|ward|station|country"
)
"""In names of columns that say where, or by whom, a patient is treated, in small letters."""

LEADING_ZEROS = re.compile("(?<![0-9.,])0+(?=[0-9])")

ALIKE, SURE = 0.8, 4.5
"""Rank correlation of a column, such as age or sex, between rows of one id; and by how many standard errors it is more
than that between rows of neighbouring ids. That is at most half of it: neighbouring measurements are alike."""

FEW_TEXTS = 10
"""Different texts, at most, of a column that is looked at for this, unless they are numbers."""

MOST_COMPARED, MOST_ROWS = 100, 5000
"""Columns, and rows of neighbouring ids, that are looked at for this."""

LEFT = 0.8
"""Share of the rows below which a column of ids may be what merged cells have left: a text in the first row of each."""


def patient_findings(frame: pd.DataFrame, label: str, form: TableForm) -> Iterator[Finding]:
    """Return the findings about rows and patients."""
    schema = form.schema
    if schema is None or not schema.patient_id:
        for name in id_columns(frame, label):
            yield warning(
                f"Column '{name}' repeats as ids do: does it say whose each row is? Then write patient-id = \"{name}\" "
                "into the schema file ('pansvm schema' writes a first one). Without it each row counts as a patient: "
                "rows of one patient are trained on and tested on, and all figures are too good.",
            )
        for name, empty in _merged(frame, label):
            yield warning(
                f"Column '{name}' is empty in {empty} of {len(frame)} rows, and no text in it repeats. Does each stand "
                "for the rows below it, too, as merged cells leave it? Then fill it down, and name it as patient-id in "
                "the schema file: else rows of one patient are trained on and tested on, and all figures are too good.",
            )
    elif schema.patient_id in frame.columns:
        ids = _texts(frame[schema.patient_id])
        yield from _rows_per_patient(_numbers(ids), schema.patient_id)
        yield from _spelt_otherwise(ids, schema.patient_id)


def _rows_per_patient(numbers: Ints, name: str) -> Iterator[Finding]:
    counts = np.bincount(numbers[numbers >= 0])
    rows, most = int(counts.sum()), int(counts.max(initial=0))
    if rows > len(counts):
        yield note(
            f"The {rows} rows are of {len(counts)} patients by '{name}', at most {most} of one. Rows of a patient are "
            "on one side of the split. At level dp, rows-per-patient of them take part: one, unless the run says more.",
        )
    elif rows >= FEW:
        yield note(another_in_every_row(name, rows))
    if rows >= FEW and most > max(LARGE * rows, 2):
        yield warning(
            f"One patient has {most} of the {rows} rows by '{name}', and weighs as much in training and test. Does the "
            "text stand for patients who are not known? Leave these rows out, or give each patient an id.",
        )


def another_in_every_row(name: str, rows: int) -> str:
    """Return the text of the finding about a column of patients' ids that may be of rows."""
    return (
        f"'{name}' has another text in every one of {rows} rows, as an id of rows has: no patient has two of them by "
        "it. If some have, name the column of their ids as patient-id, or all figures are too good; if each patient "
        "has one row, all is well."
    )


def _spelt_otherwise(ids: Iterable[str | None], name: str) -> Iterator[Finding]:
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
        yield warning(
            f"{len(others)} ids in '{name}' differ from another one only in upper and lower case, blanks or leading "
            f"zeros; the first is in data row {others[0]}. Each counts as a patient. If they are the same "
            "patients, write them alike, or their rows are trained on and tested on.",
        )


def id_columns(frame: pd.DataFrame, label: str) -> Iterator[str]:
    """Yield the columns that repeat as ids do."""
    wide, compared = frame.shape[1] > MOST_COLUMNS, frame.columns[:MOST_COMPARED]

    @cache
    def ranks_of(name: str) -> Floats:
        return _ranks(frame[name])

    for name in map(str, frame.columns):
        named = _is_named(name)
        if name == label or (not named and (wide or OF_OTHERS.search(name.casefold()))):
            continue
        cells = frame[name]
        if pd.api.types.is_float_dtype(cells.dtype) and (cells.dropna() % 1 != 0).any():
            continue
        texts = _texts(cells)
        numbers = _numbers(texts)
        counts = np.bincount(numbers[numbers >= 0])
        rows, repeated = int(counts.sum()), int(counts.sum()) - len(counts)
        if min(rows, len(counts)) < FEW or repeated < max(REPEATED * rows, 2):
            continue
        different = texts[~cells.duplicated().to_numpy()].dropna()
        if named or (
            _is_code(different) and _goes_together(texts, (ranks_of(c) for c in compared if c != name))
        ):
            yield name


def _is_named(name: str) -> bool:
    return NAMES.fullmatch(re.sub("([a-z])([A-Z])", r"\1_\2", name).casefold()) is not None


def _merged(frame: pd.DataFrame, label: str) -> Iterator[tuple[str, int]]:
    """Yield the columns of ids that merged cells may have left, and in how many rows they are empty."""
    for name in filter(_is_named, map(str, frame.columns)):
        numbers = _numbers(_texts(frame[name]))
        there = numbers >= 0
        if name != label and FEW <= there.sum() == numbers.max() + 1 < LEFT * len(frame) and there[0]:
            yield name, int(np.count_nonzero(~there))


def _texts(cells: "pd.Series[str]") -> "pd.Series[str]":
    """Return a column as canonical texts, None where one is missing."""
    return pd.Series(canonical_labels(cells), dtype=object)


def _numbers(texts: "pd.Series[str]") -> Ints:
    """Return a number for each text, -1 for a missing one."""
    codes: Ints = pd.factorize(texts.to_numpy())[0]
    return codes


def _is_code(texts: "pd.Series[str]") -> bool:
    """Tell whether texts or whole numbers are written as ids are: with digits, but no sign, decimals or dates."""
    return bool(
        texts.str.contains(r"\d").mean() > 0.9
        and texts.str.contains("^[+-]").mean() < 0.1
        and not texts.str.contains(r"^[+-]?\d*[.,]\d+$|\d[-./]\d{1,2}[-./]\d").any()
    )


def _ranks(cells: "pd.Series[str]") -> Floats:
    """Return the ranks of a column's numbers, or of its few texts; NaN where there is none."""
    texts = _texts(cells)
    numbers = pd.to_numeric(texts, errors="coerce")
    if numbers.count() < texts.count() / 2:
        numbers = pd.Series(pd.factorize(texts)[0]).where(texts.notna() & (texts.nunique() <= FEW_TEXTS))
    return np.array(numbers.rank(), dtype=np.float64)


def _goes_together(texts: "pd.Series[str]", others: Iterable[Floats]) -> bool:
    """Tell whether rows of the same id are alike in some column as rows of neighbouring ids are not."""
    numbers = pd.to_numeric(texts, errors="coerce")
    ids = numbers if numbers.count() == texts.count() else texts
    # A text of very many rows, such as the day of a study's end, is nobody's.
    counted = texts.notna() & (texts.groupby(texts).transform("size") <= LARGE * len(texts))
    # Shuffled first: neighbours in the file are of one time, or already in the order of another column.
    shuffled = ids[counted].sample(frac=1, random_state=0)
    order = shuffled.sort_values(kind="stable").index.to_numpy()[:MOST_ROWS]
    same = (ids[order][1:].to_numpy() == ids[order][:-1].to_numpy()).astype(np.bool_)
    for ranks in others:
        ordered = ranks[order]
        likeness, pairs = _likeness(ordered[:-1][same], ordered[1:][same])
        if likeness < ALIKE:
            continue
        neighbours, others_pairs = _likeness(ordered[:-1][~same], ordered[1:][~same])
        if 2 * neighbours < ALIKE and min(pairs, others_pairs) >= FEW:
            error = math.sqrt(1 / (pairs - 3) + 1 / (others_pairs - 3))
            if math.atanh(min(likeness, 0.999)) - math.atanh(max(neighbours, -0.999)) >= SURE * error:
                return True
    return False


def _likeness(ranks: Floats, other: Floats) -> tuple[float, int]:
    """Return the correlation of pairs of ranks, 0 if they are all the same, and how many pairs have both."""
    both = ~np.isnan(ranks) & ~np.isnan(other)
    ranks, other = ranks[both], other[both]
    if len(ranks) < FEW or min(np.ptp(ranks), np.ptp(other)) == 0:
        return 0.0, len(ranks)
    return float(np.corrcoef(ranks, other)[0, 1]), len(ranks)
