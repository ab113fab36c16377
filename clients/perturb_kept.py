"""What a hospital keeps for the copy of its table at level `perturbed`: the key, and what was settled at first use.

It is one file, which only this account can read. A person begins it, once; a site never does, so that a lost key is an
error and not a second copy of each record.
"""

import fcntl
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from clients.gate.state_folder import is_private, replace_file
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.wire import join_fields

FILE, LOCK = "perturbed.json", "perturbed.lock"
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
    """The content of the file: key, digest of the columns, marks of some records, what is settled of each column."""

    key: str = field(repr=False)
    columns: str = ""
    marks: Sequence[str] = ()
    features: Sequence[KeptColumn] = ()
    labels: dict[str, KeptColumn] = field(default_factory=dict)  # by the name of the label column

    @property
    def digest(self) -> str:
        """A digest of all of it."""
        return _digest(asdict(self))

    def secret(self, label: str | None = None) -> bytes:
        """Return the key of the draws for the features or for a label column, which depends on what is settled."""
        settled = self.features if label is None else [self.labels[label]]
        about = json.dumps([label, *map(asdict, settled)]).encode()
        return hmac.digest(bytes.fromhex(self.key), join_fields(tags.PERTURBED, about), "sha256")

    def mark(self, record: bytes) -> str:
        """Return the mark of a record, by which it is known again."""
        fields = join_fields(tags.RECORD_MARK, record)
        return hmac.digest(bytes.fromhex(self.key), fields, "sha256").hex()[:16]

    def check(self, columns: str, records: Iterable[bytes]) -> None:
        """Check that the table is the one whose copy was begun; else TableError."""
        if self.columns != columns:
            raise TableError(
                "The table does not have the columns that its copy for level perturbed was begun with, and each record "
                "would get a second copy. Put the columns back, and the kinds in the schema file."
            )
        if not any(self.mark(record) in self.marks for record in records):
            raise TableError(
                f"'{FILE}' in the site's state folder belongs to another table, or each record has changed since, or "
                "what tells records apart: the row ids. Put back the file or the table; a table of other patients "
                "needs a state folder of its own."
            )


def new_key(folder: Path) -> None:
    """Begin a table's copy in its hospital's folder, as a person decides once; SettingError if there is one."""
    if (folder / FILE).exists():
        raise SettingError(
            f"There is a '{FILE}' in {folder} already. It belongs to the table for good: with a new key each record "
            "gets a second copy, and the mean of both is nearer to it. A table of other patients needs another folder."
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(folder, Kept(secrets.token_hex(32)))


def settle(folder: Path, settled: Callable[[Kept], Kept]) -> Kept:
    """Return what is kept in a folder after a function has checked it, and added what is not settled yet.

    SettingError if the file is missing, damaged or open to other accounts.
    """
    # Two processes may be the first at the same time.
    with os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = _read(folder)
        after = settled(before)
        if after != before:
            _write(folder, after)
    return after


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
    if low == high:
        return settled_column(cells, True, least)
    rest = np.clip(rest, low, high)
    return replace(column, low=low, high=high, mean=float(rest.mean()), deviation=float(rest.std()))


def _read(folder: Path) -> Kept:
    try:
        if not is_private(folder / FILE):
            raise PermissionError
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if content.pop("sha256") != _digest(content):
            raise ValueError
        features = [KeptColumn(**column) for column in content.pop("features")]
        labels = {name: KeptColumn(**column) for name, column in content.pop("labels").items()}
        return Kept(**content, features=features, labels=labels)
    except FileNotFoundError:
        problem = (
            "is missing. If this table was used at level perturbed, put it back; else take that of a new folder by "
            "`pansvm hospital init`"
        )
    except PermissionError:
        problem = "is open to other accounts, or belongs to one (chmod 600 closes it)"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        problem = "is damaged. Put back a copy of it"
    raise SettingError(
        f"'{FILE}' in the site's state folder, with the key of its copy for level perturbed, {problem}.",
        detail=f"The state folder is {folder}.",
    )


def _write(folder: Path, kept: Kept) -> None:
    content = asdict(kept)
    replace_file(folder / FILE, json.dumps({**content, "sha256": _digest(content)}))


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
