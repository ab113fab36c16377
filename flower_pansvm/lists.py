"""Lists as one text, such as names of classes or columns: those that a user writes, and those that a text names."""

import csv
from collections.abc import Iterable, Sequence

from flower_pansvm.errors import SettingError


def split_list(text: str) -> tuple[str, ...]:
    """Return the items of a list in one text, which may be empty: by commas, an item with a comma in double quotes.

    SettingError if a double quote is not closed, or stands within an item.

    Examples
    --------
    >>> split_list('mrn, "Age, years"')
    ('mrn', 'Age, years')
    """
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        raise SettingError(
            f"The list {text} is not written right. Put commas between its parts, and a part that holds a comma in "
            "double quotes."
        ) from None
    return tuple(item.strip() for row in rows for item in row)


def first_of(names: Sequence[object], most: int) -> str:
    """Return the first of some names as text, and how many more there are.

    Examples
    --------
    >>> first_of(["age", "sex", "dose"], 2)
    'age, sex and 1 more'
    """
    suffix = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + suffix


def join_list(items: Iterable[str]) -> str:
    """Return a text that :func:`split_list` reads."""
    quoted = (item.replace('"', '""') for item in items)
    return ",".join(f'"{item}"' if set(item) & {",", '"'} else item for item in quoted)
