"""One way to write a label, whatever type its column has at a site."""

import re

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")


def canonical_label(text: str) -> str:
    """Return the one way to write a label, so that sites agree whatever type their column has.

    A column of whole numbers becomes 1.0, 2.0, … once a cell is missing, and truth values are written in many ways.

    Examples
    --------
    >>> canonical_label(" 1.0 "), canonical_label("+1"), canonical_label("TRUE"), canonical_label("benign")
    ('1', '1', '1', 'benign')
    """
    text = text.strip()
    if text.lower() in ("true", "false"):
        return str(int(text.lower() == "true"))
    if NUMBER.fullmatch(text):
        number = float(text)
        return str(int(number)) if number.is_integer() else str(number)
    return text
