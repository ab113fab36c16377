"""Constraints of settings of the coordinator, besides words and whole numbers."""

import math
from typing import Any

from flower_pansvm.constraints import Constraint, number
from flower_pansvm.lists import join_list, split_list


def flag() -> Constraint:
    """Return the constraint of a truth value."""

    def checked(value: object) -> bool:
        if str(value).lower() not in ("true", "false"):
            raise ValueError
        return str(value).lower() == "true"

    return Constraint("true or false", checked)


def numbers(most: float = math.inf, least: float = -math.inf, above: float = -math.inf) -> Constraint:
    """Return the constraint of several numbers within limits, kept as a tuple in their order."""
    each = number(least=least, above=above)

    def checked(written: Any) -> tuple[float, ...]:
        texts = written if isinstance(written, tuple) else str(written).split(",")
        values = tuple(map(each.read, texts))
        if max(values) > most:
            raise ValueError
        return values

    limits = f"from {least:g} to {most:g}" if math.isfinite(most) else f"above {above:g}"
    return Constraint(
        f"numbers {limits}, separated by commas", checked, lambda values: ",".join(map(number_text, values))
    )


def one_text() -> Constraint:
    """Return the constraint of a free text; a path or a number is one, a list is not."""

    def checked(value: object) -> str:
        if value is None or isinstance(value, tuple | dict):
            raise ValueError
        return str(value)

    return Constraint("a text", checked)


def names() -> Constraint:
    """Return the constraint of several names, a list or a text with commas, kept as such a text."""

    def checked(written: Any) -> str:
        texts: str = each.read(join_list(map(each.read, written)) if isinstance(written, tuple) else written)
        split_list(texts)
        return texts

    each = one_text()
    return Constraint("names, separated by commas", checked)


def number_or_grid() -> Constraint:
    """Return the constraint of a number above 0, or of several, kept as a tuple: each once, the smallest first.

    A grid of a single value is written as that value twice, to distinguish it from a number.
    """
    single, several = number(above=0), numbers(above=0)

    def checked(written: Any) -> float | tuple[float, ...]:
        if isinstance(written, tuple) or "," in str(written):
            return tuple(sorted(set(several.read(written))))
        value: float = single.read(written)
        return value

    def write(value: Any) -> Any:
        if not isinstance(value, tuple):
            return value
        return several.write(value if len(value) > 1 else 2 * value)

    return Constraint("a number above 0, or several, comma-separated", checked, write)


def share_or_count() -> Constraint:
    """Return the constraint of a share below 1, or a whole number; 1.0, all rows to scikit-learn, is neither."""

    def checked(value: object) -> float:
        amount: float = number(above=0).read(value)
        if amount < 1:
            return amount
        if not amount.is_integer() or (amount == 1 and (isinstance(value, float) or "." in str(value))):
            raise ValueError
        # A count stays one in the run config, where 1 and 1.0 differ.
        return int(amount)

    return Constraint("a share above 0 and below 1, or a whole number from 1 on", checked)


def or_word(word: str, constraint: Constraint, value: object = None) -> Constraint:
    """Return a constraint that also allows a word, which stands for ``value``."""

    def checked(written: Any) -> Any:
        return value if written == value or str(written).strip() == word else constraint.read(written)

    def write(setting: Any) -> Any:
        return word if setting == value else constraint.write(setting)

    return Constraint(f"{constraint.description}, or '{word}'", checked, write)


def number_text(value: float) -> str:
    """Return the shortest text of a number that is read as the same number.

    Examples
    --------
    >>> number_text(16.0), number_text(0.002083)
    ('16', '0.002083')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
