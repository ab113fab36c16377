"""The value of one setting: from what a user writes to a number, or to an error that says what it must be."""

import difflib
import math
from collections.abc import Iterable

from flower_pansvm.errors import SettingError

MUST_BE = {
    "C": "a number above 0, or 'auto'",
    "gamma": "a number above 0, 'scale' or 'auto'",
    "C-grid": "numbers above 0, separated by commas",
    "gamma-grid": "numbers above 0, separated by commas, or 'auto'",
    "landmarks": "a share of the rows between 0 and 1, a whole number of landmarks, or 'auto'",
    "features": "a number of features from 1 on, or 'auto'",
    "blur": "a whole number of rows from 0 on, or 'auto'",
    "test-fraction": "a number from 0 on and below 1",
    "tol": "a number above 0",
    "timeout": "a number of seconds above 0",
}
"""What an error says a setting must be; a number, where nothing is said."""


def refusal(key: str, value: object) -> SettingError:
    """Return the error that says what the setting must be."""
    return SettingError(f"{key} is '{value}', but it must be {MUST_BE.get(key, 'a number')}.")


def to_number(key: str, value: object) -> float:
    """Return a value as a number, perhaps infinite or none.

    Raises
    ------
    SettingError
        If it is none.
    """
    try:
        return float(str(value))
    except ValueError:
        raise refusal(key, value) from None


def to_positive(key: str, value: object) -> float:
    """Return a value as a finite number above 0.

    Raises
    ------
    SettingError
        If it is none.
    """
    found = to_number(key, value)
    if not 0 < found < math.inf:
        raise refusal(key, value)
    return found


def to_positives(key: str, values: str) -> list[float]:
    """Return the numbers above 0 of a list with commas, each once, the smallest first.

    Raises
    ------
    SettingError
        If it is no such list; the text shows all of it.

    Examples
    --------
    >>> to_positives("C-grid", "4, 1,4")
    [1.0, 4.0]
    """
    try:
        return sorted({to_positive(key, value) for value in values.split(",")})
    except SettingError:
        raise refusal(key, values) from None


def convert(key: str, value: object, kind: type) -> str | int | float | bool:
    """Return a run-config value as the type of the setting; a user may write 1 for 1.0.

    Raises
    ------
    SettingError
        If that cannot be.
    """
    if kind is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
        raise SettingError(f"{key} is '{value}', but it must be true or false.")
    if kind is str:
        return str(value)
    found = to_number(key, value)
    if kind is int:
        if not found.is_integer():
            raise SettingError(f"{key} is {value}, but it must be a whole number.")
        return int(found)
    return found


def near_matches(word: str, known: Iterable[str]) -> str:
    """Return the end of an error text that names what the user may have meant.

    Examples
    --------
    >>> near_matches("gama", ["gamma", "C"])
    "Did you mean 'gamma'?"
    """
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(repr(name) for name in close)}?"
    return f"Choose one of: {', '.join(names)}."


def check_choice(setting: str, value: str, choices: Iterable[str]) -> None:
    """Raise a SettingError that names the near matches unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise SettingError(f"There is no {setting} '{value}'. {near_matches(value, choices)}")


def check_least(setting: str, value: float, least: float) -> None:
    """Raise a SettingError unless ``value`` is finite and at least ``least``."""
    if not least <= value < math.inf:
        raise SettingError(f"{setting} is {value}, but it must be at least {least}.")
