"""Documents from outside, JSON or TOML, read within limits: a small file may cost its reader gigabytes, or end it.

Python's ``tomllib`` takes memory that grows with the square of the parts of a dotted key, and both parsers call
themselves for each bracket. So length, brackets and dots are counted first, in one pass over the text.
"""

import json
import math
import re
import tomllib
from typing import Any, Literal

LONGEST = 2**20
DEEPEST = 32
"""Most brackets within each other, and parts of a dotted key."""

_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
"""A string or a comment; one that is not closed reaches as far as the parser would read it."""

_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}")
_BRACKET = re.compile(r"[\[\]{}]")


def parse_document(text: str, form: Literal["json", "toml"], longest: int = LONGEST) -> Any:
    """Return what a document holds.

    Parameters
    ----------
    text : str
        The document.
    form : {"json", "toml"}
        How it is written. A name may stand only once in each object of JSON, as in TOML.
    longest : int
        Most characters.

    Raises
    ------
    ValueError
        If it is longer, nested deeper than `DEEPEST`, holds a number that is no 64-bit one or half a pair of UTF-16,
        or is not written in that form. The text says which, and holds none of the document but a character or a name.
    """
    if len(text) > longest:
        raise ValueError(f"it is longer than {longest} characters")
    _check_depth(text)
    if form == "toml":
        content: Any = tomllib.loads(text, parse_float=_float)
    else:
        content = json.loads(text, object_pairs_hook=_no_repeats, parse_int=_whole, parse_float=_float)
    _check_values(content)
    return content


def _check_depth(text: str) -> None:
    """Check how deeply brackets and dotted keys nest; ValueError if too deeply."""
    # A string becomes a part of a key. Within strings and comments nothing counts.
    plain = _STRING.sub(lambda match: "" if match[0][0] == "#" else "x", text)
    depth = 0
    for bracket in _BRACKET.finditer(plain):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > DEEPEST:
            raise ValueError(f"it is nested too deep: more than {DEEPEST} brackets within each other")
    if _DOTTED.search(plain):
        raise ValueError(f"it has a key of more than {DEEPEST} parts")


def _check_values(content: Any) -> None:
    """Check all numbers and texts, which nest no deeper than `DEEPEST` and the parts of a key; else ValueError."""
    if isinstance(content, dict):
        for name, value in content.items():
            _check_values(name)
            _check_values(value)
    elif isinstance(content, list):
        for value in content:
            _check_values(value)
    elif isinstance(content, str):
        if any("\ud800" <= character <= "\udfff" for character in content):
            raise ValueError("it holds half a pair of UTF-16, which is no text")
    elif isinstance(content, int) and not -(2**63) <= content < 2**63:
        raise ValueError("it holds a number of more than 64 bits")


def _whole(digits: str) -> int:
    # Python itself refuses more than 4,300 digits, and takes long for fewer.
    if len(digits) > len(str(-(2**63))):
        raise ValueError("it holds a number of more than 64 bits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value) and "inf" not in digits.lower():
        raise ValueError("it holds a value that is too large")
    return value


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("it gives a name twice")
    return entries
