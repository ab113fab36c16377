"""What a hospital keeps for the copy of its table at level `perturbed`: the key, and what was settled at first use.

It is in the table's ledger (:mod:`clients.ledger.ledger`), so that the table has the same copy from each of its
hospital's folders, and a lost key is an error and not a second copy of each record.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from clients.ledger.ledger import Ledger, change_ledger
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import TableError
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.wire import join_fields

FEW_VALUES = 10  # a column with no more different numbers holds codes
MARKS = 32  # records of the first use by which a table is known again


@dataclass(frozen=True)
class KeptColumn:
    """What is settled of a column: its codes, in order, and the ends, mean and deviation of its measurements.

    ``counts`` has the records with each code, then those with a missing cell, then those with a measurement; 0 for
    what too few records have.
    """

    values: Sequence[Any]
    counts: Sequence[int]
    low: float = 0.0
    high: float = 0.0
    mean: float = 0.0
    deviation: float = 1.0


@dataclass(frozen=True)
class Kept:
    """The table's key, digest of the columns, marks of some records, what is settled of each column."""

    key: str = field(repr=False)
    columns: str = ""
    marks: Sequence[str] = ()
    features: Sequence[KeptColumn] = ()
    labels: dict[str, KeptColumn] = field(default_factory=dict)  # by the name of the label column

    @property
    def digest(self) -> str:
        """A digest of all of it."""
        return hashlib.sha256(json.dumps(self, default=vars, sort_keys=True).encode()).hexdigest()

    def secret(self, label: str | None = None) -> bytes:
        """Return the key of the draws for the features or for a label column, which depends on what is settled."""
        settled = self.features if label is None else [self.labels[label]]
        about = json.dumps([label, *settled], default=vars).encode()
        return hmac.digest(bytes.fromhex(self.key), join_fields(tags.PERTURBED, about), "sha256")

    def mark(self, record: bytes) -> str:
        """Return the mark of a record, by which it is known again."""
        fields = join_fields(tags.RECORD_MARK, record)
        return hmac.digest(bytes.fromhex(self.key), fields, "sha256").hex()[:16]

    def check(self, columns: str, records: Iterable[bytes]) -> None:
        """Check that the table is the one whose copy was begun; else TableError."""
        if self.columns != columns:
            raise TableError(
                "The table does not have the columns that its copy for level perturbed was begun with, or its schema "
                "file reads rows or cells otherwise, and records would get a second copy. Put the columns back, and in "
                "the schema file the kinds, what is missing or below a limit, and [reading]. The node config may tell "
                "another way of writing the file, with the 'decimal', 'missing' and 'thousands' of before. If cells "
                "are wrong, correct the table."
            )
        wanted = set(self.marks)
        lost = wanted.copy()
        for record in records:
            lost.discard(self.mark(record))
            if 2 * len(lost) <= len(wanted):
                return
        raise TableError(
            "Most records that the table's copy for level perturbed was begun with have changed or are gone, or what "
            "tells them apart has changed: the row ids, or what the schema file takes for missing. Each would get a "
            "second copy. Put them back."
        )


def settle(folder: Path, settled: Callable[[Kept], Kept]) -> Kept:
    """Return what is kept for a hospital's table after a function has checked it, and added what is not settled yet.

    BudgetError if the table's ledger is missing or damaged, or the table was not looked at when the run was joined;
    TableError if so few records would settle that each cell is missing in the copy for good.
    """

    # Two processes may be the first at the same time, but only one at a time changes a ledger.
    def change(ledger: Ledger) -> Ledger:
        kept = settled(_kept(ledger))
        if all(sum(column.counts) == column.counts[-2] for column in kept.features):
            raise TableError(
                "The table has too few records for a copy: of no column would anything stay, now or when there are "
                "more. Begin with the whole table, of at least twice min-cluster rows."
            )
        content = asdict(kept)
        del content["key"]
        return replace(ledger, copy=content)

    return _kept(change_ledger(folder, change))


def _kept(ledger: Ledger) -> Kept:
    content = {"features": [], "labels": {}, **ledger.copy}
    features = [KeptColumn(**column) for column in content.pop("features")]
    labels = {name: KeptColumn(**column) for name, column in content.pop("labels").items()}
    return Kept(ledger.key, **content, features=features, labels=labels)


def settled_column(cells: Floats, holds_codes: bool, least: int) -> KeptColumn:
    """Return what is to be settled of a column.

    Parameters
    ----------
    cells : ndarray of shape (rows,)
        NaN is missing.
    holds_codes : bool
        Whether it is known to hold codes. A column of few different numbers does as well.
    least : int
        Records that have to share a code, and either end of the measurements.
    """
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    holds_codes = holds_codes or len(values) <= FEW_VALUES
    # Where most cells are the same number, as 0 of a sparse column, this is a code beside the measurements.
    common = counts >= least if holds_codes else counts > counts.sum() / 2
    rest = np.repeat(values[~common], counts[~common])
    measured = 0 if holds_codes or len(rest) < 2 * least else len(rest)
    missing = len(cells) - int(counts[common].sum()) - measured
    if missing < least and (common.any() or measured):
        missing = 0
    column = KeptColumn(values[common].tolist(), [*counts[common].tolist(), missing, measured])
    if not measured:
        return column
    low, high = float(rest[least - 1]), float(rest[-least])
    rest = np.clip(rest, low, high)
    mean, deviation = float(rest.mean()), float(rest.std())
    if low == high or deviation == 0:  # of numbers such as 1e-200, whose squares are 0
        return settled_column(cells, True, least)
    return replace(column, low=low, high=high, mean=mean, deviation=deviation)
