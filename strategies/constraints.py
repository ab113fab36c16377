"""The constraints of the coordinator's own settings, beyond words and whole numbers."""

import math
from typing import Any

from flower_pansvm.constraints import Constraint, number
from flower_pansvm.lists import as_list, listed


def flag() -> Constraint:
    """Return the constraint of a truth value."""

    def found(value: object) -> bool:
        if str(value).lower() not in ("true", "false"):
            raise ValueError
        return str(value).lower() == "true"

    return Constraint("true or false", found)


def numbers(most: float = math.inf, least: float = -math.inf, above: float = -math.inf) -> Constraint:
    """Return the constraint of several numbers within limits, kept as a tuple in their order."""
    each = number(least=least, above=above)

    def values(written: Any) -> tuple[float, ...]:
        parts = written if isinstance(written, tuple) else str(written).split(",")
        found = tuple(each.read(part) for part in parts)
        if max(found) > most:
            raise ValueError
        return found

    limits = f"from {least:g} to {most:g}" if math.isfinite(most) else f"above {above:g}"
    return Constraint(
        f"numbers {limits}, separated by commas", values, lambda values: ",".join(map(number_text, values))
    )


def text() -> Constraint:
    """Return the constraint of a free text, which may be a path or a number, and no list."""

    def found(value: object) -> str:
        if value is None or isinstance(value, tuple | dict):
            raise ValueError
        return str(value)

    return Constraint("a text", found)


def names() -> Constraint:
    """Return the constraint of several names, a list or a text with commas, kept as such a text."""

    def found(written: Any) -> str:
        parts: str = each.read(as_list(map(each.read, written)) if isinstance(written, tuple) else written)
        listed(parts)
        return parts

    each = text()
    return Constraint("names, separated by commas", found)


def number_or_grid() -> Constraint:
    """Return the constraint of a number above 0, or of several, kept as a tuple: each once, the smallest first.

    A grid of a single value, which is not a number that is given, is written as twice that value.
    """
    single, several = number(above=0), numbers(above=0)

    def found(written: Any) -> float | tuple[float, ...]:
        if isinstance(written, tuple) or "," in str(written):
            return tuple(sorted(set(several.read(written))))
        value: float = single.read(written)
        return value

    def write(value: Any) -> Any:
        if not isinstance(value, tuple):
            return value
        return several.write(value if len(value) > 1 else 2 * value)

    return Constraint("a number above 0, or several by commas", found, write)


def share_or_count() -> Constraint:
    """Return the constraint of a share below 1, or a whole number."""

    def found(value: object) -> float:
        asked: float = number(above=0).read(value)
        if asked > 1 and not asked.is_integer():
            raise ValueError
        return asked

    return Constraint("a share above 0 and below 1, or a whole number from 1 on", found)


def or_word(word: str, constraint: Constraint, value: object = None) -> Constraint:
    """Return the constraint of what may be a word as well, which stands for ``value``."""

    def found(written: Any) -> Any:
        return value if written == value or str(written).strip() == word else constraint.read(written)

    def write(found: Any) -> Any:
        return word if found == value else constraint.write(found)

    return Constraint(f"{constraint.description}, or '{word}'", found, write)


def number_text(value: float) -> str:
    """Return a number as a person writes it, the same number when it is read again.

    Examples
    --------
    >>> number_text(16.0), number_text(0.002083)
    ('16', '0.002083')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
