"""Constraints of settings, declared beside the field, checked on the user's values, named in errors."""

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from flower_pansvm.errors import SettingError


@dataclass(frozen=True)
class Constraint:
    """The constraint of a setting's values."""

    description: str  # in words, as the end of a sentence: ``a number above 0``
    # Returns the value for a user's text, or for the value itself; or raises ValueError.
    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = lambda value: value  # returns the entry of the run config
    choices: tuple[str, ...] = ()  # the words it must be one of; empty if it is not chosen from words


def setting(default: object, constraint: Constraint, meaning: str) -> Any:
    """Return a field of a frozen dataclass of settings, whose ``__post_init__`` calls `parse`."""
    return field(default=default, metadata={"constraint": constraint, "meaning": meaning})


def parse(settings: Any) -> None:
    """Replace the user's texts by values, in all fields of new settings; SettingError if one is invalid."""
    for key, option in setting_fields(type(settings)).items():
        value = read(key, getattr(settings, option.name), option.metadata["constraint"])
        object.__setattr__(settings, option.name, value)


def setting_fields(owner: type[Any]) -> dict[str, "Field[Any]"]:
    """Return the settings that are fields of a class, by their keys in the run config or node config."""
    return {key_of(option.name): option for option in fields(owner) if "constraint" in option.metadata}


def values_in(owner: type[Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a config gives to settings of a class, by the names of their fields."""
    return {option.name: config[key] for key, option in setting_fields(owner).items() if key in config}


def read(key: str, value: object, constraint: Constraint) -> Any:
    """Return the value of a setting for a user's text; SettingError, with the constraint, if it is invalid."""
    value = _plain(value)
    if constraint.choices:
        check_choice(key, str(value), constraint.choices)
    try:
        return constraint.read(value)
    except ValueError:
        raise SettingError(f"{key} is '{value}', but it must be {constraint.description}.") from None


def _plain(value: Any) -> Any:
    """Return numpy's numbers and texts as Python's own, and lists and arrays as tuples."""
    if isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0:
        return tuple(map(_plain, value))
    if hasattr(value, "tolist"):
        plain = value.tolist()
        # Of single precision the number as it is written: 0.3, not 0.30000001192092896.
        return float(str(value)) if isinstance(plain, float) else plain
    return value


def key_of(name: str) -> str:
    """Return a field's key in the run config: ``min-sites`` for ``min_sites``."""
    return name.replace("_", "-")


def text() -> Constraint:
    """Return the constraint of a free text."""
    return Constraint("a text", str)


def one_of(*choices: str) -> Constraint:
    """Return the constraint of one of several words."""
    return Constraint(f"one of {', '.join(choices)}", str, choices=choices)


def one_of_numbers(*choices: float) -> Constraint:
    """Return the constraint of one of several numbers."""

    def read_choice(value: object) -> float:
        choice = float(str(value))
        if choice not in choices:
            raise ValueError
        return choice

    return Constraint(f"one of {', '.join(f'{choice:g}' for choice in choices)}", read_choice)


def whole(least: int, most: float = math.inf) -> Constraint:
    """Return the constraint of whole numbers from ``least`` to ``most``."""

    def read_whole(value: object) -> int:
        amount = float(str(value))
        if not (least <= amount <= most and amount.is_integer()):
            raise ValueError
        return int(amount)

    upper = f" and at most {most}" if most < math.inf else ""
    return Constraint(f"a whole number of at least {least}{upper}", read_whole)


def number(
    least: float = -math.inf, above: float = -math.inf, below: float = math.inf, most: float = math.inf
) -> Constraint:
    """Return the constraint of finite numbers within limits."""

    def read_number(value: object) -> float:
        amount = float(str(value))
        if not (least <= amount <= most and above < amount < below and math.isfinite(amount)):
            raise ValueError
        return amount

    limits = {"of at least": least, "above": above, "below": below, "at most": most}
    bounds = " and ".join(f"{name} {limit:g}" for name, limit in limits.items() if math.isfinite(limit))
    return Constraint(f"a number {bounds}".strip(), read_number)


def near_matches(word: str, choices: Iterable[str]) -> str:
    """Return the end of an error text, with the choices nearest to a word."""
    names = sorted(choices)
    by_small = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(str(word).casefold(), by_small, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(repr(by_small[name]) for name in close)}?"
    return f"Choose one of: {', '.join(names)}."


def check_choice(setting: str, value: str, choices: Iterable[str]) -> None:
    """Raise a SettingError that names the near matches unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise SettingError(f"There is no {setting} '{value}'. {near_matches(value, choices)}")
