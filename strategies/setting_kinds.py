"""What the coordinator's own settings may be, beyond words and whole numbers."""

import math
from typing import Any

from flower_pansvm.setting_values import Kind


def flag() -> Kind:
    """Return the kind of a truth value."""

    def found(value: object) -> bool:
        if str(value).lower() not in ("true", "false"):
            raise ValueError
        return str(value).lower() == "true"

    return Kind("true or false", found)


def number(
    least: float = -math.inf, above: float = -math.inf, below: float = math.inf, most: float = math.inf
) -> Kind:
    """Return the kind of finite numbers within limits."""

    def found(value: object) -> float:
        number = float(str(value))
        if not (least <= number <= most and above < number < below and math.isfinite(number)):
            raise ValueError
        return number

    limits = {"of at least": least, "above": above, "below": below, "at most": most}
    told = " and ".join(f"{name} {limit:g}" for name, limit in limits.items() if math.isfinite(limit))
    return Kind(f"a number {told}".strip(), found)


def positives() -> Kind:
    """Return the kind of several numbers above 0, kept as a tuple: each once, the smallest first."""

    def found(value: Any) -> tuple[float, ...]:
        parts = value if isinstance(value, tuple) else str(value).split(",")
        return tuple(sorted({number(above=0).read(part) for part in parts}))

    return Kind(
        "numbers above 0, separated by commas", found, lambda values: ",".join(map(number_text, values))
    )


def amounts() -> Kind:
    """Return the kind of several numbers above 0, kept as a tuple in their order."""

    def found(value: Any) -> tuple[float, ...]:
        parts = value if isinstance(value, tuple) else str(value).split(",")
        return tuple(number(above=0).read(part) for part in parts)

    return Kind(
        "numbers above 0, separated by commas", found, lambda values: ",".join(map(number_text, values))
    )


def share_or_count() -> Kind:
    """Return the kind of a share below 1, or a whole number."""

    def found(value: object) -> float:
        asked: float = number(above=0).read(value)
        if asked > 1 and not asked.is_integer():
            raise ValueError
        return asked

    return Kind("a share above 0 and below 1, or a whole number from 1 on", found)


def or_word(word: str, kind: Kind, value: object = None) -> Kind:
    """Return the kind of what may be a word as well, which stands for ``value``: ``None`` unless another is given."""

    def found(written: Any) -> Any:
        return value if written == value or str(written).strip() == word else kind.read(written)

    def write(found: Any) -> Any:
        return word if found == value else kind.write(found)

    return Kind(f"{kind.must_be}, or '{word}'", found, write)


def number_text(value: float) -> str:
    """Return a number as a person writes it, the same number when it is read again.

    Examples
    --------
    >>> number_text(16.0), number_text(0.002083)
    ('16', '0.002083')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
