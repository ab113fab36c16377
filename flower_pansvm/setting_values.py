"""What a setting may be: said beside its field, read from what a user writes, told where a value cannot work."""

import difflib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from flower_pansvm.errors import SettingError


@dataclass(frozen=True)
class Kind:
    """What the values of a setting may be."""

    must_be: str  # in words, as the end of a sentence: ``a number above 0``
    read: Callable[
        [Any], Any
    ]  # the value for what a user has written, or for the value itself; or ValueError
    write: Callable[[Any], Any] = lambda value: value  # what the run config holds for a value
    choices: tuple[str, ...] = ()  # the words it must be one of; empty if it is not chosen from words


def setting(default: object, kind: Kind, meaning: str) -> Any:
    """Return a field of a frozen dataclass of settings, whose ``__post_init__`` calls `parse`."""
    return field(default=default, metadata={"kind": kind, "meaning": meaning})


def parse(settings: Any) -> None:
    """Replace what a user has written by values, in all fields of new settings; SettingError if one cannot work."""
    for one in fields(settings):
        if "kind" in one.metadata:
            value = read(key_of(one.name), getattr(settings, one.name), one.metadata["kind"])
            object.__setattr__(settings, one.name, value)


def read(key: str, value: object, kind: Kind) -> Any:
    """Return the value of a setting for what a user has written; SettingError says what it must be."""
    if kind.choices:
        check_choice(key, str(value), kind.choices)
    try:
        return kind.read(value)
    except ValueError:
        raise SettingError(f"{key} is '{value}', but it must be {kind.must_be}.") from None


def key_of(name: str) -> str:
    """Return what the run config calls a field: ``min-sites`` for ``min_sites``."""
    return name.replace("_", "-")


def text() -> Kind:
    """Return the kind of a free text."""
    return Kind("a text", str)


def one_of(*choices: str) -> Kind:
    """Return the kind of one of several words."""
    return Kind(f"one of {', '.join(choices)}", str, choices=choices)


def one_of_numbers(*choices: float) -> Kind:
    """Return the kind of one of several numbers."""

    def found(value: object) -> float:
        number = float(str(value))
        if number not in choices:
            raise ValueError
        return number

    return Kind(f"one of {', '.join(f'{choice:g}' for choice in choices)}", found)


def whole(least: int, most: float = math.inf, multiple: int = 1) -> Kind:
    """Return the kind of whole numbers from ``least`` to ``most``, all or the multiples of one."""

    def found(value: object) -> int:
        number = float(str(value))
        if not (least <= number <= most and number % multiple == 0):
            raise ValueError
        return int(number)

    upper = f" and at most {most}" if most < math.inf else ""
    what = "a whole number" if multiple == 1 else f"a multiple of {multiple}"
    return Kind(f"{what} of at least {least}{upper}", found)


def near_matches(word: str, known: Iterable[str]) -> str:
    """Return the end of an error text that names what the user may have meant."""
    names = sorted(known)
    by_small = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(word.casefold(), by_small, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(repr(by_small[name]) for name in close)}?"
    return f"Choose one of: {', '.join(names)}."


def check_choice(setting: str, value: str, choices: Iterable[str]) -> None:
    """Raise a SettingError that names the near matches unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise SettingError(f"There is no {setting} '{value}'. {near_matches(value, choices)}")
