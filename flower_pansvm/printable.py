"""Texts from elsewhere, made safe to show: in a terminal, a control character is a command."""

import unicodedata

MOST_CHARACTERS = 2000  # longest text from elsewhere that is shown

CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's control characters, those that reorder others unseen, halves of pairs, and separators of lines."""

MOST_TEXT = 500
"""Characters of the name of a column or a class."""

MOST_COLUMNS = 2**20


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


def is_printable(text: str) -> bool:
    """Tell whether a text holds none of :data:`CONTROLS`."""
    return not any(unicodedata.category(character) in CONTROLS for character in text)


def printable(text: str, most: int = MOST_CHARACTERS) -> str:
    r"""Return a text with its control characters written out, such as ``\x1b``, cut after so many characters."""
    safe = text[:most]
    if not safe.isprintable():  # which is stricter, and quick
        safe = "".join(c if is_printable(c) else c.encode("unicode_escape").decode() for c in safe)
    return safe if len(safe) <= most and len(text) <= most else f"{safe[:most]} …"
