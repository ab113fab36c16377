"""Names of columns and classes, and labels: their canonical form, which are valid, and which may mean the same."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from flower_pansvm.printable import CONTROLS

NUMBER = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)")
WRITTEN_BY_PROGRAMS = re.compile(r"([+-]?)(0|[1-9][0-9]*)(?:\.0*)?")
"""Whole numbers as programs write them: 1, +1, 1.0. What begins with another 0, or has decimals, is a code."""

MOST_CLASSES = 30
"""A label column with more labels is most likely the wrong one: ages, names, numbers of patients."""

LABEL_RULE = (
    "whole numbers of at most 6 digits, or words of at most 24 characters: letters, digits (at most 4), blanks and "
    "-_+./()<>="
)
"""The rule of :func:`can_be_class`, for errors."""

MOST_TEXT = 500
"""Characters of the name of a column or a class."""

MOST_COLUMNS = 2**20

WHOLE_NUMBER = re.compile(r"-?[0-9]{1,6}")
WORD = re.compile(r"[\w \-+./()<>=]{1,24}")
DATE = re.compile(r"[0-9]([-./])[0-9]{1,2}\1[0-9]")
LETTERS = re.compile(r"[^\W\d_]+")
MOST_DIGITS = 4

SAME = {"0": ("no", "n", "false", "neg", "negative"), "1": ("yes", "y", "true", "pos", "positive")}
"""Words that two hospitals may write for the same class as 0 or 1."""

SPELLING = (
    "in upper and lower case, in blanks, as 01 or 1.0 differ from 1, or as yes, true or positive do (no, false, "
    "negative from 0)"
)
"""In what two labels of the same :func:`spelling` may differ, for errors."""


def plain_name(text: object) -> str:
    r"""Return the one way to write a name: Unicode's composed form, a single blank for any white space.

    Examples
    --------
    >>> plain_name(" Age\n(years) "), plain_name("Gro\u0308\u00dfe")
    ('Age (years)', 'Größe')
    """
    return " ".join(unicodedata.normalize("NFC", str(text)).split())


def name_problem(text: str) -> str:
    """Return why a text can be the name of no column and no class, as the end of a sentence; empty if it can."""
    if not text:
        return "is empty"
    if len(text) > MOST_TEXT:
        return f"is longer than {MOST_TEXT} characters"
    hidden = next((char for char in text if unicodedata.category(char) in CONTROLS), "")
    return f"holds a character that nobody sees, U+{ord(hidden):04X}" if hidden else ""


def canonical_label(text: str) -> str:
    """Return the one way to write a label, so that sites agree whatever type their column has.

    A column of whole numbers becomes 1.0, 2.0, … once a cell is missing, and truth values are written in many ways.
    Codes stay as they are, such as 007, 250.50 and numbers of 17 digits.

    Examples
    --------
    >>> canonical_label(" 1.0 "), canonical_label("+1"), canonical_label("TRUE"), canonical_label("benign")
    ('1', '1', '1', 'benign')
    >>> canonical_label("01"), canonical_label("1.10")
    ('01', '1.10')
    """
    text = unicodedata.normalize("NFC", text.strip())
    if text.lower() in ("true", "false"):
        return str(int(text.lower() == "true"))
    integer = WRITTEN_BY_PROGRAMS.fullmatch(text)
    if integer is None:
        return text
    return integer[2] if integer[1] != "-" or integer[2] == "0" else f"-{integer[2]}"


def is_number(text: str) -> bool:
    """Return whether a text is a decimal number: digits, at most one point, and a sign."""
    return NUMBER.fullmatch(text) is not None


def can_be_class(label: str) -> bool:
    """Return whether a label, in canonical form, can be the name of a class: a whole number or a short word.

    Names of classes leave a hospital. Decimals, dates and long numbers are measurements, days or patients.

    Examples
    --------
    >>> [can_be_class(label) for label in ("-1", "malignant", "grade 2", ">50K", "C50.9", "+")]
    [True, True, True, True, True, True]
    >>> [can_be_class(label) for label in ("12.5", "1.2e-07", "20140311", "11.3.2014", "P0012345", "O'Hara, Ann")]
    [False, False, False, False, False, False]
    """
    if WHOLE_NUMBER.fullmatch(label):
        return True
    digits = sum(character.isdigit() for character in label)
    measured = DATE.search(label) or _number(label)
    return bool(WORD.fullmatch(label)) and digits <= MOST_DIGITS and not measured


def can_be_listed(label: str) -> bool:
    """Return whether a label can be a class that a hospital lists itself, where it may hold commas.

    Examples
    --------
    >>> can_be_listed("Diabetes, type 2")
    True
    """
    return can_be_class(label.replace(",", " "))


def spelling(label: str) -> str:
    """Return a key shared by labels that differ only in case, in blanks, or as yes or 01 differ from 1.

    Programs and habits change case: ``yes``, ``Yes``, ``YES``. A capital among small letters is written on
    purpose and stays, as in names of vowels.

    Examples
    --------
    >>> spelling("hId") == spelling("hid"), spelling("HID") == spelling("hid")
    (False, True)
    >>> spelling("Type 2") == spelling("type2"), spelling("Yes") == spelling("1"), spelling("neg") == spelling("0")
    (True, True, True)
    >>> spelling("01") == spelling("1"), spelling("250.0") == spelling("250.00"), spelling("10") == spelling("1")
    (True, True, False)
    """
    words = LETTERS.sub(lambda word: _in_small_letters(word.group()), unicodedata.normalize("NFKC", label))
    plain = "".join(words.split())
    decimal = NUMBER.fullmatch(plain)
    if decimal:
        whole, _, decimals = decimal[2].partition(".")
        size = f"{whole.lstrip('0') or '0'}.{decimals.rstrip('0')}".removesuffix(".")
        return f"-{size}" if decimal[1] == "-" and size != "0" else size
    return next((digit for digit, words in SAME.items() if plain in words), plain)


def misspelt(labels: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the labels that are not among the known ones, but would be if they were spelt as one of them."""
    spellings = {spelling(label) for label in names}
    return [label for label in labels if label not in names and spelling(label) in spellings]


def _in_small_letters(word: str) -> str:
    if word == word.upper() or word[1:] == word[1:].lower():
        return word.casefold()
    return word[0].lower() + word[1:]


def _number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True
