"""A column of a raw table, looked at for ``pansvm check`` and ``pansvm schema``."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clients.table.cells import canonical_labels, parse
from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.labels import DATE, spelling

FEW = 20
"""Rows below which nothing is said of how many cells differ: by chance all may."""

HINTS = re.compile(
    r"\b(ids?|mrn|ssn|pid|nhs|names?|surname|forename|dob|birth\w*|address|street|phone|tel|e?mail|zip\w*|post\w*|"
    r"doctor|physician|insurance|passport|dates?|comments?|notes?|remarks?)\b"
)
"""Words in the name of a column that tells who a patient is."""


@dataclass(frozen=True)
class Cells:
    """The cells of a column.

    Parameters
    ----------
    name : str
        Of the column.
    texts : ndarray of object, shape (rows,)
        In canonical form; None where missing.
    values : ndarray of shape (rows,)
        As numbers; NaN where missing or text.
    """

    name: str
    texts: np.ndarray
    values: Floats

    @property
    def there(self) -> Bools:
        """Which cells are not missing, shape (rows,)."""
        found: Bools = np.array([text is not None for text in self.texts], dtype=np.bool_)
        return found

    @property
    def is_number(self) -> bool:
        """Whether all cells that are not missing are numbers."""
        return bool(self.there.any()) and not np.isnan(self.values[self.there]).any()

    @property
    def is_yes_no(self) -> bool:
        """Whether all cells mean yes or no, some of them in words."""
        found = {spelling(text) for text in self.distinct}
        return found == {"0", "1"} and not self.is_number

    @property
    def distinct(self) -> list[str]:
        """The different texts of the column."""
        return sorted(set(self.texts[self.there]))

    @property
    def is_date(self) -> bool:
        """Whether most cells hold a day."""
        dates = [bool(DATE.search(text)) for text in self.texts[self.there]]
        return sum(dates) > len(dates) / 2

    @property
    def identifies(self) -> bool:
        """Whether the column tells who a patient is: by its name, or as nearly all its cells differ."""
        rows, different = int(self.there.sum()), len(self.distinct)
        words = re.sub("([a-z])([A-Z])", r"\1 \2", self.name).replace("_", " ").casefold()
        if not self.is_number:
            return self.is_date or bool(HINTS.search(words)) or (rows >= FEW and different > rows / 2)
        numbers = self.values[self.there]
        if not (numbers == np.round(numbers)).all():
            return False
        in_a_row = different == rows and np.ptp(numbers) == rows - 1
        long = different > 0.95 * rows and np.abs(numbers).min() >= 10_000
        return (rows >= FEW and (in_a_row or long)) or (bool(HINTS.search(words)) and different > FEW)


def cells_of(column: "pd.Series[str]", decimal: str = ".", missing: tuple[str, ...] = ()) -> Cells:
    """Return a raw column's cells; those that ``missing`` lists, in canonical form, count as missing."""
    codes, different = pd.factorize(column.astype(object))
    known = [
        None if text in missing else text for text in canonical_labels(pd.Series(different, dtype=object))
    ]
    texts = np.array([*known, None], dtype=object)
    numbers, _ = parse(np.array([*different, None], dtype=object)[:, None], decimal)
    values = np.where([text is None for text in texts], np.nan, numbers[:, 0])
    return Cells(str(column.name), texts[codes], values[codes])
