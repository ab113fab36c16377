"""Marks by which a hospital notices that a column, or the ids of the records, changed since its copy was made.

A changed cell has an independent second copy, and both together are worth σ/√2. Where a person corrects some cells,
that is the price. Where a whole column is converted or the ids have moved, all records would pay it; so the table is
refused, and a person decides. Marks are keyed digests, of a fixed number of records: the first use's, and the table's
when it was last accepted, among which are those that came later. Which records these are follows from the key.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from clients.table.table import columns_text
from flower_pansvm.arrays import Ints
from flower_pansvm.errors import TableError
from flower_pansvm.labels import MOST_CLASSES

MARKED = 64  # records of the first use, and as many of the last one
MOVED, LEAST_MOVED = 0.05, 4  # share and number of a column's marks that may not have changed at once
OF_A_LABEL, FREQUENT = 32, 8  # marked records of a label at most, and of one by which a column is known
GONE = 0.5  # share of the last table's marked records that may not be gone at once
GONE_WITHOUT_IDS = 0.25  # a record without an id that was changed looks as if it was gone

Words = NDArray[np.uint64]
Found = dict[str, str]  # by the fingerprint of a record: the marks of its cells

CHANGED = (
    "The table is not as it was when its copy for level perturbed was made, and records would get a second copy. The "
    "hospital's own log says what has changed. Put it back as it was; or its operator ends the copy (pansvm budget "
    "--help says what that costs)."
)
"""All that a coordinator learns of what the marks have shown."""


@dataclass(frozen=True)
class Marks:
    """Marks of some records' cells: four hexadecimal digits for each column."""

    first: Found = field(default_factory=dict, repr=False)  # of the first use; cells as last accepted
    last: Found = field(default_factory=dict, repr=False)  # of the table that was last accepted
    labels: dict[str, Found] = field(default_factory=dict, repr=False)  # of a settled label column


def fingerprints(secret: bytes, records: Sequence[bytes]) -> Words:
    """Return a keyed number of each record, shape (rows,)."""
    digests = b"".join(hashlib.blake2b(one, digest_size=8, key=secret).digest() for one in records)
    return np.frombuffer(digests, "<u8")


def marks_of(secret: bytes, cells: Words) -> list[str]:
    """Return the marks of some records' cells, shape (rows, columns), as one text for each record."""
    blocks = np.empty((*cells.shape, 2), "<u8")
    blocks[..., 0], blocks[..., 1] = np.arange(cells.shape[1]), cells
    cipher = Cipher(algorithms.AES256(secret), modes.ECB())
    digests = np.frombuffer(cipher.encryptor().update(blocks.tobytes()), "<u2").reshape(*cells.shape, 8)
    return [row.tobytes().hex() for row in digests[..., 0]]


def rows_to_mark(found: Words, marks: Marks) -> Ints:
    """Return the rows whose marks are compared or kept, of records with these fingerprints, shape (rows,)."""
    order = np.argsort(found, kind="stable")
    first = order[:0] if marks.first else order[:MARKED]
    known = np.flatnonzero(np.isin(found, as_words([*marks.first, *marks.last])))
    return np.unique(np.concatenate([first, known, order[-MARKED:]]))


def accepted(marks: Marks, now: Found, names: Sequence[str], by_ids: bool) -> Marks:
    """Return the marks of a table after a comparison with those of its copy; TableError if it has changed.

    Parameters
    ----------
    marks : Marks
        What is kept; empty at the first use.
    now : dict
        Of the rows that :func:`rows_to_mark` returns.
    names : sequence of str
        The columns, for the hospital's own log.
    by_ids : bool
        Whether records are known by ids.
    """
    known = {**marks.first, **marks.last}
    there = [one for one in known if one in now]
    gone = 1 - len(now.keys() & marks.last.keys()) / max(len(marks.last), 1)
    if known and gone > (GONE if by_ids else GONE_WITHOUT_IDS):
        cause = (
            "the row ids (blanks, upper and lower case, leading zeros, another column)"
            if by_ids
            else "at least one cell of each, as no row-id tells records apart: a unit, a format, a corrected column"
        )
        raise TableError(CHANGED, f"Of the records {gone:.0%} are gone. Else what changed is {cause}.")
    before, after = (_cells([of[one] for one in there]) for of in (known, now))
    changed = (before != after).sum(axis=0) if there else np.zeros(len(names))
    moved = changed >= max(LEAST_MOVED, MOVED * len(there))
    if moved.any():
        which = columns_text([name for name, one in zip(names, moved, strict=True) if one])
        cause = "Have the row ids moved" if moved.mean() > 0.5 else "Was it exported in another unit"
        raise TableError(
            CHANGED,
            f"In {which}, at least {changed[moved].min() / len(there):.0%} of the cells have changed. {cause}, or "
            "calibrated, rounded or coded anew? Convert it back.",
        )
    order = sorted(now)
    first = {one: now.get(one, "") or marks.first[one] for one in marks.first or order[:MARKED]}
    return replace(marks, first=first, last={one: now[one] for one in order[-MARKED:]})


def label_rows(found: Words, labels: NDArray[np.str_]) -> Ints:
    """Return the rows by which a label column is known again: some of each label."""
    order = np.argsort(found, kind="stable")
    rows = [order[labels[order] == name][:OF_A_LABEL] for name in np.unique(labels)[:MOST_CLASSES]]
    return np.sort(np.concatenate(rows))


def labels_moved(before: Found, now: Found) -> bool:
    """Tell whether more labels of a settled column have changed than people correct."""
    there = before.keys() & now.keys()
    changed = sum(before[one] != now[one] for one in there)
    return changed >= max(LEAST_MOVED, MOVED * len(there))


def same_labels(before: Found, now: Found) -> bool | None:
    """Tell whether labels are those of a settled column; None if so, but written otherwise.

    They are if those of one tell those of the other: two of its frequent labels go to two of the other, but for one
    record in ten.
    """
    pairs = Counter((before[one], now[one]) for one in before.keys() & now.keys())
    for side in (0, 1):
        of: dict[str, Counter[str]] = {}
        for pair, count in pairs.items():
            of.setdefault(pair[side], Counter())[pair[1 - side]] += count
        frequent = sorted(of, key=lambda name: -of[name].total())
        frequent = [one for place, one in enumerate(frequent) if place < 2 or of[one].total() >= FREQUENT]
        most = {name: of[name].most_common(1)[0] for name in frequent}
        told = {name: other for name, (other, count) in most.items() if count >= 0.9 * of[name].total()}
        if len({*told.values()}) > 1:
            return all(name == other for name, other in told.items()) or None
    return False


def _cells(texts: Sequence[str]) -> NDArray[np.uint16]:
    """Return the marks of records' cells, shape (records, columns)."""
    return np.array([np.frombuffer(bytes.fromhex(text), "<u2") for text in texts], dtype=np.uint16)


def as_texts(found: Words) -> list[str]:
    """Return fingerprints as they are kept."""
    return [f"{one:016x}" for one in found.tolist()]


def as_words(found: Sequence[str]) -> Words:
    """Return the fingerprints that :func:`as_texts` wrote."""
    return np.array([int(one, 16) for one in found], dtype=np.uint64)
