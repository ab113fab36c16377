"""The schema file: all sites' agreement on their tables' columns. Coordinator, sites and model read the same.

It is TOML, which people can read and comment, and which Python reads without a further package::

    label = "outcome"
    classes = ["no", "mild", "severe"]
    positive = ["mild", "severe"]
    patient-id = "mrn"
    leave-out = ["ward"]
    outcome = "Death within 30 days of admission"
    data-source = "Admissions for heart failure, 2019 to 2024, four university hospitals"
    intended-use = "Research only"

    [columns.cholesterol]
    unit = "mg/dl"
    range = [50, 700]
    missing = [0, -999]

    [columns.smoker]
    kind = "yes/no"

    [columns."chest pain"]
    kind = "category"
    categories = ["typical", "atypical", "none"]

    [reading]
    separator = "semicolon"

Everything in it is public: it comes from knowledge of the measurements, and not from rows. The format of a file
(``reading``) may differ from site to site.
"""

import hashlib
import json
import math
import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError
from flower_pansvm.labels import (
    LABEL_RULE,
    MOST_CLASSES,
    SPELLING,
    can_be_listed,
    canonical_label,
    is_number,
    name_problem,
    plain_name,
    spelling,
)
from flower_pansvm.lists import join_list
from flower_pansvm.outside import parse_document
from flower_pansvm.printable import is_printable
from flower_pansvm.reading_options import READING_KEYS, ReadingOptions, said_of_reading

NUMBER, CATEGORY, YES_NO = KINDS = ("number", "category", "yes/no")

MOST_CATEGORIES = 100
LONGEST_FILE = 2**24

ABOUT = ("outcome", "data-source", "intended-use")
"""What no machine can know and the report has to say: the outcome and when it is known; where, when and of whom the
records are; what the model is for."""

AGREED_KEYS = ("label", "classes", "positive", "patient-id", "leave-out", *ABOUT)
KEYS = (*AGREED_KEYS, "reading", "columns")
COLUMN_KEYS = ("kind", "unit", "range", "categories", "missing", "below-limit")

HALF, LIMIT = LIMIT_WORDS = ("half", "limit")
"""What ``<5`` counts as: 2.5 or 5. Above a limit, ``>200``, it is 200 either way."""


@dataclass(frozen=True)
class TableColumn:
    """One column of the tables."""

    name: str  # as in the tables
    kind: str = NUMBER  # what a cell is: 'number', 'category' or 'yes/no'
    unit: str = ""  # of a number; for people, who have to measure alike
    # Lowest and highest number that can be, as far as anybody may know; None if the file does not say.
    ends: tuple[float, float] | None = None
    categories: tuple[str, ...] = ()  # of a category: what a cell may be
    missing: tuple[str, ...] = ()  # what stands for a missing cell besides an empty one
    # What a number counts as that is only known to be below a limit, 'half' or 'limit'; empty if there is no such cell.
    below_limit: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of numbers that are made of it: one for each category, 1 where the cell is that and else 0."""
        if self.kind == CATEGORY:
            return tuple(f"{self.name}={category}" for category in self.categories)
        return (self.name,)

    @property
    def public_ends(self) -> tuple[float, float] | None:
        """The lowest and highest number of each of its features; None if they are not known."""
        return self.ends if self.kind == NUMBER else (0.0, 1.0)

    def outside(self, numbers: Floats) -> Bools:
        """Return which numbers are outside of its range; a missing one, NaN, never is."""
        low, high = self.ends or (-math.inf, math.inf)
        return (numbers < low) | (numbers > high)

    def to_json(self) -> dict[str, Any]:
        """Return the file's entries on the column."""
        entries = {
            "kind": self.kind,
            "unit": self.unit,
            "range": self.ends and list(self.ends),
            "categories": list(self.categories),
            "missing": list(self.missing),
            "below-limit": self.below_limit,
        }
        return {key: value for key, value in entries.items() if value}


@dataclass(frozen=True)
class TableSchema:
    """A schema file."""

    # The features, in the order in which all sites use them. What else a table holds is left out.
    columns: tuple[TableColumn, ...]
    label: str = ""  # name of the label column; empty if the file does not say
    classes: tuple[str, ...] = ()  # the labels that there are; empty if the file does not say
    # The labels that count as positive, which makes two classes of all; empty if the classes are the labels.
    positive: tuple[str, ...] = ()
    patient_id: str = ""  # name of the column that says who a row is; it is no feature. Empty without one.
    leave_out: tuple[str, ...] = ()  # further columns that are no features, and known to be none
    # What the report says of the study, as in `ABOUT`; empty if the file does not say.
    outcome: str = ""
    data_source: str = ""
    intended_use: str = ""
    # Options of `ReadingOptions`, by name, where a site does not say otherwise. No part of :attr:`text`.
    reading: tuple[tuple[str, str], ...] = ()
    name: str = field(default="schema", compare=False)  # of the file, for errors

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a schema file; SettingError if it cannot be read or is invalid."""
        try:
            text = path.read_text(encoding="utf-8-sig")
            return cls.from_mapping(parse_document(text, "toml", LONGEST_FILE), path.name)
        except tomllib.TOMLDecodeError as error:
            # Its text may quote the file, which may be the wrong one: a table.
            position = re.search(r"\(at [a-z0-9, ]+\)$", str(error))
            raise SettingError(
                f"'{path.name}' is no schema file: it is not TOML {position[0] if position else ''}. "
                "'pansvm schema TABLE' writes a first one."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(
                f"The schema file '{path.name}' cannot be read ({type(error).__name__}). Name it by an absolute path; "
                "it is a text file in UTF-8."
            ) from None
        except ValueError as error:
            raise SettingError(f"'{path.name}' is no schema file: {error}.") from None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read :attr:`text`; ValueError or SettingError if it is invalid."""
        return cls.from_mapping(parse_document(text, "json", LONGEST_FILE), "schema")

    @classmethod
    def from_mapping(cls, entries: Any, name: str) -> Self:
        """Return the schema of a file's ``entries``; SettingError if they are invalid. ``name`` is the file's."""
        reading = _Reading(name)
        reading.check_keys(entries, KEYS, "")
        columns = reading.mapping(entries.get("columns", {}), "columns")
        schema = cls(
            tuple(reading.column(key, value) for key, value in columns.items()),
            reading.name_of(entries.get("label", ""), "label"),
            reading.canonical(entries.get("classes", []), "classes"),
            reading.canonical(entries.get("positive", []), "positive"),
            reading.name_of(entries.get("patient-id", ""), "patient-id"),
            tuple(map(plain_name, reading.texts(entries.get("leave-out", []), "leave-out"))),
            reading=reading.options(entries.get("reading", {})),
            name=name,
            **{key.replace("-", "_"): reading.text(entries.get(key, ""), key) for key in ABOUT},
        )
        reading.check_whole(schema)
        return schema

    @cached_property
    def text(self) -> str:
        """The file without comments and the like: the same text for the same schema."""
        entries = {key: getattr(self, key.replace("-", "_")) for key in AGREED_KEYS}
        entries["columns"] = {column.name: column.to_json() for column in self.columns}
        return json.dumps({key: value for key, value in entries.items() if value})

    @cached_property
    def digest(self) -> str:
        """Digest of :attr:`text`, equal at two sites with equal schemas."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]

    @property
    def changes_cells(self) -> bool:
        """Whether a table read by it is another than without: columns of numbers only, and no codes, are not."""
        return any(column.kind != NUMBER or column.missing or column.below_limit for column in self.columns)

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of numbers that are made of a table, in order."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def public_ends(self) -> dict[str, tuple[float, float]]:
        """The public ends of the features, where the file has them."""
        ends = ((name, column.public_ends) for column in self.columns for name in column.features)
        return {name: pair for name, pair in ends if pair}


@dataclass(frozen=True)
class _Reading:
    """Reading a file of a name, which is for errors."""

    name: str

    def error(self, text: str) -> SettingError:
        return SettingError(f"The schema file '{self.name}' {text}")

    def mapping(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.error(
                f"has the wrong type for {where}: expected a table. Write [columns.NAME] above each column."
            )
        return value

    def check_keys(self, entries: Any, allowed: Sequence[str], where: str) -> None:
        for key in self.mapping(entries, where or "the whole"):
            if key not in allowed:
                raise self.error(f"has an unknown key '{key}'{where}. {near_matches(key, allowed)}")

    def text(self, value: Any, key: str) -> str:
        if not isinstance(value, str) or not is_printable(value):
            raise self.error(f'has the wrong type for {key}: expected a printable text. Write {key} = "…".')
        return value.strip()

    def texts(self, value: Any, key: str) -> tuple[str, ...]:
        sound = isinstance(value, list) and all(isinstance(item, str | int | float) for item in value)
        texts = tuple(unicodedata.normalize("NFC", str(item).strip()) for item in value) if sound else ()
        if not sound or not all(map(is_printable, texts)) or len(set(texts)) < len(texts):
            raise self.error(
                f"has the wrong value for {key}: expected different texts in a list. Write them in quotation marks, "
                'codes such as "1.10" too: ["…", "…"].'
            )
        return texts

    def name_of(self, value: Any, key: str) -> str:
        return plain_name(self.text(value, key))

    def options(self, entries: Any) -> tuple[tuple[str, str], ...]:
        self.check_keys(entries, READING_KEYS, " for reading")
        lists = {key: join_list(map(str, value)) for key, value in entries.items() if isinstance(value, list)}
        options = said_of_reading({**entries, **lists})
        try:
            ReadingOptions(**options)
        except SettingError as error:
            raise self.error(f"has invalid reading options: {error}") from None
        return tuple(options.items())

    def column(self, name: str, entries: Any) -> TableColumn:
        name = plain_name(name)
        where = f" for column '{name}'"
        self.check_keys(entries, COLUMN_KEYS, where)
        kind = entries.get("kind", NUMBER)
        if kind not in KINDS:
            raise self.error(f"has an unknown kind{where}. It is one of {', '.join(KINDS)}.")
        categories = self.texts(entries.get("categories", []), f"categories{where}")
        if (kind == CATEGORY) != bool(categories):
            raise self.error(
                f'names categories{where} or none: a column has them if its kind is "{CATEGORY}".'
            )
        # Numbers may be codes, of which 1.1 and 1.10 are two.
        words = [spelling(text) for text in categories if not is_number(text)]
        codes = {spelling(text) for text in categories if is_number(text)}
        if len(categories) > MOST_CATEGORIES or len({*words, *codes}) < len(words) + len(codes):
            raise self.error(
                f"has categories{where} that differ only in how they are spelt, or more than {MOST_CATEGORIES}."
            )
        missing = self.texts(entries.get("missing", []), f"missing{where}")
        if set(categories) & set(missing):
            raise self.error(f"has a text{where} as category and as missing. Take one of them out.")
        below = self.text(entries.get("below-limit", ""), f"below-limit{where}")
        if below and (below not in LIMIT_WORDS or kind != NUMBER):
            raise self.error(
                f"has a below-limit{where} that is invalid: it is one of {', '.join(LIMIT_WORDS)}, for numbers only."
            )
        unit = self.text(entries.get("unit", ""), f"unit{where}")
        column = TableColumn(name, kind, unit, self._ends(entries, kind, where), categories, missing, below)
        problem = next(filter(None, map(name_problem, column.features)), "")
        if problem:
            raise self.error(f"has a column, or a column with a category, whose name {problem}.")
        return column

    def canonical(self, value: Any, key: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(canonical_label, self.texts(value, key))))

    def _ends(self, entries: Mapping[str, Any], kind: str, where: str) -> tuple[float, float] | None:
        if "range" not in entries:
            return None
        ends = entries["range"]
        sound = isinstance(ends, list) and len(ends) == 2 and all(type(end) in (int, float) for end in ends)
        if not sound or kind != NUMBER or not -math.inf < ends[0] < ends[1] < math.inf:
            raise self.error(
                f"has an invalid range{where}: it is a number and another one above it, for columns of numbers "
                "only. Write range = [0, 120]. A column that is always the same may have any range that holds it."
            )
        return float(ends[0]), float(ends[1])

    def check_whole(self, schema: TableSchema) -> None:
        """Check the entries that concern several columns."""
        classes, positive = schema.classes, schema.positive
        sound = all(map(can_be_listed, classes)) and len(set(map(spelling, classes))) == len(classes)
        if classes and not (2 <= len(classes) <= MOST_CLASSES and sound):
            raise self.error(
                f"has invalid classes. Write their names, each once: from 2 to {MOST_CLASSES}. They are "
                f"{LABEL_RULE}; no two may differ only {SPELLING}."
            )
        if classes and positive and not set(positive) < set(classes):
            raise self.error(f"has invalid positive labels. Choose some, not all, of: {', '.join(classes)}.")
        if not schema.columns:
            raise self.error("names no column. Write [columns.NAME] for each feature.")
        if len(set(schema.features)) < len(schema.features):
            raise self.error("has two columns of one name, or one named like another's category.")
        if schema.label and schema.label == schema.patient_id:
            raise self.error(f"has column '{schema.label}' as label and as patient-id. Correct one of them.")
        names = {column.name for column in schema.columns}
        for key, name in (
            ("label", schema.label),
            ("patient-id", schema.patient_id),
            *(("leave-out", left_out) for left_out in schema.leave_out),
        ):
            if name in names:
                raise self.error(f"has column '{name}' as {key} and as a feature. Take one of them out.")
