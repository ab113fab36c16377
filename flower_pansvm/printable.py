"""Texts from elsewhere, made safe to show: in a terminal, a control character is a command."""

import unicodedata

MOST_CHARACTERS = 2000  # longest text from elsewhere that is shown

CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's control characters, those that reorder others unseen, halves of pairs, and separators of lines."""


def is_printable(text: str) -> bool:
    """Tell whether a text holds none of :data:`CONTROLS`."""
    return not any(unicodedata.category(character) in CONTROLS for character in text)


def printable(text: str, most: int = MOST_CHARACTERS) -> str:
    r"""Return a text with its control characters written out, such as ``\x1b``, cut after so many characters."""
    safe = text[:most]
    if not safe.isprintable():  # which is stricter, and quick
        safe = "".join(c if is_printable(c) else c.encode("unicode_escape").decode() for c in safe)
    return safe if len(safe) <= most and len(text) <= most else f"{safe[:most]} …"
