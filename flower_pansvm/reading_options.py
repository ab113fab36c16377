"""The format of a table's file: one list of options for command line, settings, node config and schema file."""

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flower_pansvm.constraints import Constraint, parse, setting, setting_fields, values_in
from flower_pansvm.errors import SettingError
from flower_pansvm.lists import split_list

WORDS = {"tab": "\t", "semicolon": ";", "comma": ",", "blank": " ", "point": ".", "apostrophe": "'"}
"""Characters that are hard to write as they are."""

NO_THOUSANDS = "none"


def _character(description: str, *only: str) -> Constraint:
    def read_character(value: object) -> str:
        text = WORDS.get(str(value).lower(), str(value))
        if text and (text not in only if only else len(text) > 1 or text in '"\r\n'):
            raise ValueError
        return text

    return Constraint(description, read_character)


def _text(description: str, check: Callable[[str], object]) -> Constraint:
    def read_text(value: object) -> str:
        try:
            if value != "":
                check(str(value))
        except SettingError:
            raise ValueError from None
        return str(value)

    return Constraint(description, read_text)


def _encoding(name: str) -> None:
    try:
        "ä".encode(name)
        if codecs.lookup(name).name in ("idna", "punycode", "unicode_escape", "raw_unicode_escape"):
            raise ValueError
    except UnicodeEncodeError:
        pass
    except (LookupError, UnicodeError):
        raise ValueError from None


def _count(text: str) -> None:
    if not text.isascii() or not text.isdecimal() or len(text) > 6:
        raise ValueError


@dataclass(frozen=True)
class ReadingOptions:
    """The format of a file. An empty text stands for the schema file's option, or the default."""

    separator: str = setting(
        "",
        _character("a single character, or one of the words tab, semicolon, comma and blank"),
        "Between the fields of CSV files: a character, semicolon or tab; by default a comma.",
    )
    decimal: str = setting(
        "",
        _character("a point or a comma", ".", ","),
        "Before the decimals in text: comma, or point (default).",
    )
    thousands: str = setting(
        "",
        _character("comma, point, blank, apostrophe or none", *",. '", NO_THOUSANDS),
        "Between groups of three digits in text: comma, point, blank or apostrophe; none if there are no groups.",
    )
    encoding: str = setting(
        "",
        _text("the name of an encoding, such as utf-8, cp1252 or latin-1", _encoding),
        "Of CSV files, such as cp1252; by default UTF-8, or UTF-16 with its mark.",
    )
    sheet: str = setting("", _text("a text", str), "Sheet of Excel workbooks with several.")
    skip_rows: str = setting(
        "", _text("a whole number", _count), "Rows of CSV and Excel above the column names."
    )
    skip_footer: str = setting(
        "", _text("a whole number", _count), "Last rows of CSV and Excel to leave out."
    )
    comment: str = setting("", _text("a text", str), "How rows that are left out begin, such as #.")
    missing: str = setting(
        "", _text("a list with commas", split_list), "Further texts for a missing cell, comma-separated."
    )

    def __post_init__(self) -> None:
        parse(self)
        if self.thousands and self.thousands == (self.decimal or "."):
            raise SettingError(
                "'thousands' and 'decimal' are the same character. Where points group thousands, decimals have a "
                "comma: thousands='.' decimal=','."
            )

    @property
    def options(self) -> tuple[str, ...]:
        """The values of the options, in order."""
        return tuple(getattr(self, option.name) for option in setting_fields(ReadingOptions).values())

    @property
    def said(self) -> dict[str, str]:
        """The values of the options, by key."""
        return dict(zip(READING_KEYS, self.options, strict=True))


READING_KEYS = tuple(setting_fields(ReadingOptions))


def said_of_reading(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the options that a mapping has by their keys, by name, without empty ones."""
    return {name: str(value) for name, value in values_in(ReadingOptions, values).items() if str(value)}
