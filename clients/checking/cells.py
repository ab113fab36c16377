"""The columns of a raw table, looked at for ``pansvm check`` and ``pansvm schema``."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from clients.checking.texts import why_not_written
from clients.table.cells import MISSING, as_numbers, canonical_labels, parse_numbers, text_of
from clients.table.encoding import LIMIT, without_codes, without_texts
from clients.table.form import AS_IT_IS, TableForm
from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.labels import DATE, spelling
from flower_pansvm.table_schema import NUMBER, TableColumn

FEW = 20
"""Rows below which nothing is said of how many cells differ: by chance all may."""

COMMON = 10
"""Rows that have to have a text for it to be shown or written."""

MEASURED = 0.9
"""Share of numbers among the cells of a column above which it is a measurement."""

MOST_CODES = 100
"""Different numbers above which a column is not taken for one of codes."""

# fmt: off
KNOWN_WORDS = frozenset({
    "unknown", "unk", "n.a.", "n.a", "n.d.", "nd", "nk", "none", "nil", "missing", "blank", "(blank)", "pending",
    "refused", "inconclusive", "hemolyzed", "haemolysed", "unbekannt", "inconnu", "desconocido", "k.a.", "--", "---",
    "#null!", "#value!", "#div/0!", "#ref!", "#num!", "#name?", "not_done", "not done", "not available",
    "not measured", "not known", "not applicable", "no data", "to follow",
})
# fmt: on
"""Words for a cell without a value, which tell nothing of a patient."""

HINTS = re.compile(
    r"\b(ids?|mrn|ssn|pid|nhs|names?|surname|forename|dob|birth(?! ?(wei|wt|len|head|order))\w*|address|street|phone|"
    r"tel|e?mail|zip\w*|post ?(al|code|leit)\w*|doctor|physician(?! global)|insurance|passport|dates?|comments?|"
    r"notes?|remarks?)\b"
)
"""Words in the name of a column that tells who a patient is."""

COMMAS, PERCENT, UNIT = "other points, commas or blanks than are said", "a percent sign", "a unit"
OTHER_FORMS = {
    COMMAS: r"[+-]?[0-9]+[.,][0-9]+|"
    r"[+-]?[0-9]{1,3}([., '\u00a0\u202f][0-9]{3})+([.,][0-9]+)?",
    PERCENT: r"[+-]?[0-9][0-9.,]* ?%",
    UNIT: r"[+-]?[0-9][0-9.,]* ?[^\W\d_][^0-9]*",
}

PAIR = re.compile(r"[0-9]+([.,][0-9]+)? ?[/:] ?[0-9]+([.,][0-9]+)?(:[0-9]+)?( ?[a-z]+)?")
"""Two numbers in one cell, such as 120/80 mmHg, 7:05 or 03/2021; in small letters."""

GROUPED = r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}"
"""A number of which nobody knows whether its point or comma is for decimals or for thousands."""


@dataclass(frozen=True)
class Cells:
    """The cells of a column."""

    column: TableColumn  # as the schema file describes it, or its name only
    raw: "pd.Series[str]" = field(repr=False)  # the cells as they were read
    values: Floats = field(repr=False)  # (rows,): as numbers; NaN where missing or text
    is_text: Bools = field(repr=False)  # (rows,): what is neither a number nor missing
    form: TableForm = AS_IT_IS  # how the file is said to be written

    @property
    def name(self) -> str:
        """Of the column."""
        return self.column.name

    @cached_property
    def is_filled(self) -> Bools:
        """Which cells are not missing, shape (rows,)."""
        if self.is_measurement:
            return self.is_text | ~np.isnan(self.values)
        filled: Bools = np.array([text is not None for text in self.texts], dtype=np.bool_)
        return filled

    @cached_property
    def texts(self) -> np.ndarray:
        """The cells as labels, shape (rows,); None where missing."""
        missing = {text.lower() for text in self.column.missing}
        labels = canonical_labels(self.raw)
        codes = [
            None if label is None else text_of(cell) for label, cell in zip(labels, self.raw, strict=True)
        ]
        if len(set(labels)) < len(set(codes)):
            labels = codes  # such as 250.0 and 250.00
        return np.array(
            [None if text is None or text.lower() in missing else text for text in labels], dtype=object
        )

    @cached_property
    def is_number(self) -> bool:
        """Whether all cells that are not missing are numbers."""
        return not self.is_text.any() and not np.isnan(self.values).all()

    @cached_property
    def is_measurement(self) -> bool:
        """Whether nearly all cells that are not missing are numbers, or limits such as <5."""
        numbers = np.count_nonzero(~np.isnan(self.values))
        measured = numbers + self.limits if numbers else 0
        return bool(numbers and measured >= MEASURED * (numbers + np.count_nonzero(self.is_text)))

    @property
    def is_mostly_numbers(self) -> bool:
        """Whether more cells are numbers than text."""
        return bool(np.count_nonzero(~np.isnan(self.values)) > np.count_nonzero(self.is_text))

    @cached_property
    def is_yes_no(self) -> bool:
        """Whether all cells mean yes or no, in words or as 1 and 0."""
        return {spelling(text) for text in self.distinct_texts} == {"0", "1"}

    @cached_property
    def distinct_texts(self) -> list[str]:
        """The different texts of the column."""
        return sorted({text for text in self.texts if text is not None})

    @cached_property
    def is_date(self) -> bool:
        """Whether most cells hold a day."""
        dates = [bool(DATE.search(text)) for text in self.texts[self.is_filled]]
        return sum(dates) > len(dates) / 2

    @cached_property
    def is_pair(self) -> bool:
        """Whether nearly all cells hold two numbers, and more different ones than a code has."""
        if len(self.words) <= FEW:
            return False
        alike = sum(count for text, count in self.words.items() if PAIR.fullmatch(text))
        filled = np.count_nonzero(self.is_text | ~np.isnan(self.values))
        return bool(alike >= MEASURED * filled)

    @property
    def is_named_as_id(self) -> bool:
        """Whether the column tells who a patient is by its name."""
        words = re.sub("([a-z])([A-Z])", r"\1 \2", self.name).replace("_", " ").casefold()
        return HINTS.search(words) is not None

    @cached_property
    def identifies(self) -> bool:
        """Whether the column tells who a patient is: by its name, or as nearly all its cells differ."""
        # Ids as a program writes them that takes them for numbers, such as 4711.0, whatever the decimals of the file.
        as_floats = bool(self.words) and all(re.fullmatch(r"[0-9]+\.0", text) for text in self.words)
        if self.another_form and not self.is_date and not as_floats:
            return False
        # Of numbers beside a few words for no value, the numbers say whether they are ids.
        if not self.is_measurement and not (self.is_mostly_numbers and len(self.words) <= FEW):
            rows, different = int(self.is_filled.sum()), len(self.distinct_texts)
            return self.is_date or self.is_named_as_id or (rows >= FEW and different > rows / 2)
        numbers = self.values[np.isfinite(self.values)]
        if not (numbers == np.round(numbers)).all():
            return False
        rows, different = len(numbers), len(np.unique(numbers))
        day, month = numbers % 100, numbers // 100 % 100
        within = (numbers >= 1900_00_00) & (numbers < 2100_00_00) & (month >= 1) & (month <= 12)
        if (within & (day >= 1) & (day <= 31)).all():
            return True
        in_a_row = different == rows and np.ptp(numbers) == rows - 1
        long = different > 0.95 * rows and np.abs(numbers).min() >= 10_000
        return (rows >= FEW and (in_a_row or long)) or (self.is_named_as_id and different > FEW)

    @cached_property
    def is_code(self) -> bool:
        """Whether numbers are written as codes are: 01, or 1.1 and 1.10 both."""
        if pd.api.types.is_numeric_dtype(self.raw.dtype) or not self.is_number:
            return False
        numbers = len(np.unique(self.values))
        if numbers > MOST_CODES:
            return False
        cells = [str(cell).strip() for cell in self.distinct_cells]
        if len(cells) <= numbers and not any(
            text[0] == "0" and text[1:2].isdigit() for text in cells if text
        ):
            return False  # told quickly, as of most of the thousands of columns that a table may have
        texts = {text_of(cell) for cell in self.distinct_cells if isinstance(cell, str)}
        texts = {text for text in texts if text.lower() not in MISSING}
        with_decimals = [text for text in texts if "." in text]
        # No code has a sign: -0.00 beside 0.00 is what a program makes of a small number.
        twice = len(set(map(spelling, with_decimals))) < len(with_decimals)
        signed = any(text[0] in "+-" for text in with_decimals)
        return any(re.match("0[0-9]", text) for text in texts) or (twice and not signed)

    @cached_property
    def distinct_cells(self) -> list[object]:
        """The different cells as they were read."""
        return list(dict.fromkeys(self.raw.to_numpy(dtype=object).tolist()))

    @property
    def may_be_grouped(self) -> bool:
        """Whether points or commas may be for thousands: all numbers are whole, or in such groups."""
        if self.form.thousands or pd.api.types.is_numeric_dtype(self.raw.dtype):
            return False
        mark = self.form.decimal or "."
        stripped = (text.strip() for text in self.distinct_cells if isinstance(text, str))
        # Of most columns one of the first texts tells it.
        if not all(re.fullmatch(GROUPED, text) for text in stripped if mark in text):
            return False
        fractions = self.values[self.values != np.round(self.values)]
        fractions = fractions[~np.isnan(fractions)]
        if not np.allclose(fractions * 1000, np.round(fractions * 1000), rtol=0, atol=1e-6):
            return False
        texts = [text.strip() for text in self.distinct_cells if isinstance(text, str)]
        marked = [text for text in texts if mark in text]
        whole = any(re.fullmatch("[+-]?[0-9]+", text) for text in texts)
        return bool(marked) and (whole or all(text.endswith("0") for text in marked))

    @cached_property
    def words(self) -> Counter[str]:
        """How many cells have each text that is no number, in small letters."""
        texts = self.raw[self.is_text] if self.is_text.any() else ()
        return Counter(text_of(cell).lower() for cell in texts)

    @cached_property
    def another_form(self) -> str:
        """In what other form nearly all texts are numbers: with another comma, a sign, a unit; empty if in none."""
        plain = {text: re.sub(LIMIT, r"\2", text) for text in self.words}
        limits = [text for text in plain if plain[text] != text]
        if limits:
            # One whose number is written as is said, such as <0.5, is in no other form.
            _, is_other = parse_numbers(np.array([plain[text] for text in limits], dtype=object), self.form)
            plain |= {text: "" for text, other in zip(limits, is_other, strict=True) if not other}
        for form, pattern in OTHER_FORMS.items():
            alike = sum(self.words[text] for text in plain if re.fullmatch(pattern, plain[text]))
            if alike and alike >= MEASURED * self.words.total():
                return "" if form == UNIT and self._is_numbered else form
        return ""

    @property
    def _is_numbered(self) -> bool:
        """Whether each text has a number and a word of its own, as 1 Male and 2 Female: no unit is so."""
        numbers, words = (
            {re.sub(others, "", text) for text in self.words} for others in (r"[^\d.,]", r"[\W\d_]")
        )
        return len(self.words) == len(numbers) == len(words) <= MOST_CODES

    @cached_property
    def is_limit(self) -> Bools:
        """Which cells begin with < or >, shape (rows,), where below-limit says what they count as."""
        if not self.column.below_limit or pd.api.types.is_numeric_dtype(self.raw.dtype):
            return np.zeros(len(self.raw), dtype=np.bool_)
        return self.raw.astype(str).str.match(LIMIT).to_numpy(dtype=np.bool_)

    @property
    def limits(self) -> int:
        """How many cells begin with < or > and are text."""
        return sum(count for text, count in self.words.items() if re.match(LIMIT, text))

    @property
    def common_words(self) -> list[str]:
        """The texts among numbers that many rows have, and well-known words for no value."""
        return sorted(
            text
            for text, count in self.words.items()
            if (text in KNOWN_WORDS or (count >= COMMON and not why_not_written(text)))
            and not re.match(LIMIT, text)
        )


def cells_of(frame: pd.DataFrame, columns: Sequence[TableColumn], form: TableForm) -> list[Cells]:
    """Return some of a raw table's columns, read as joining does."""
    if not columns:
        return []
    values, is_text = as_numbers(without_texts(frame, columns, form), form)
    values = without_codes(values, columns)
    # What is no number is looked at as text, however it is written.
    codes = np.array([column.kind != NUMBER for column in columns], dtype=np.bool_)
    coded = [column.name for column in columns if column.kind != NUMBER]
    values[:, codes], is_text[:, codes] = np.nan, frame[coded].notna().to_numpy()
    return [
        Cells(column, frame[column.name], values[:, index], is_text[:, index], form)
        for index, column in enumerate(columns)
    ]
