"""Which texts of a table may be written where others read them, as in a schema file: those that tell of no patient.

Many rows have to have a text in any case. That is not enough for a number of a patient who came ten times, for a date,
an address or a remark: whoever knows a little more finds the patient by them.
"""

import re

from flower_pansvm.labels import DATE, MOST_DIGITS, is_number
from flower_pansvm.printable import is_printable

LONGEST, LONGEST_CODE = 60, 7
"""Characters of a category, and of a number that may be one, such as 250.00."""

ADDRESS = re.compile(r"\S@\S|//")

HIDDEN = "text with line breaks or other characters that nobody sees, which no list may hold"
TELLING = "text that may be dates, addresses or numbers of patients; if they are codes, describe it"
LONG = f"text of more than {LONGEST} characters, as remarks are"


def why_not_written(text: str) -> str:
    r"""Return why a text is not written, however many rows have it; empty if it may be.

    Examples
    --------
    >>> [why_not_written(text) for text in ('says "so"', "≥ 5", "37°C", "C#", "*", "a\\b", "250.00")]
    ['', '', '', '', '', '', '']
    >>> [why_not_written(text) == TELLING for text in ("11.3.2014", "P0012345", "ann@ward.example")]
    [True, True, True]
    """
    if not is_printable(text):
        return HIDDEN
    if is_number(text):
        return TELLING if len(text) > LONGEST_CODE else ""
    digits = sum(character.isdigit() for character in text)
    if digits > MOST_DIGITS or DATE.search(text) or ADDRESS.search(text):
        return TELLING
    return LONG if len(text) > LONGEST else ""
