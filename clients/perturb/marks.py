"""Marks by which a hospital knows a table again whose copy has begun: keyed digests of some records' cells.

Kept are the marks of the first use's records, and of the table's when it was last accepted, among which are those that
came later. Which records these are follows from the key. `clients.perturb.rules` compares them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from flower_pansvm.arrays import Ints
from flower_pansvm.labels import MOST_CLASSES

# Records of the first use, and as many of the last one: of other cells in 15 % of them at least 4 show, with 99 %.
MARKED = 64
OF_A_LABEL = 32  # of each label: as many of a rare one, if there are so many

Words = NDArray[np.uint64]
Cells = NDArray[np.uint16]
CellMarks = dict[str, str]  # by the fingerprint of a record: the marks of its cells


@dataclass(frozen=True)
class Marks:
    """Marks of some records' cells: four hexadecimal digits for each column."""

    first: CellMarks = field(default_factory=dict, repr=False)  # of the first use; cells as last accepted
    last: CellMarks = field(default_factory=dict, repr=False)  # of the table that was last accepted
    labels: dict[str, CellMarks] = field(default_factory=dict, repr=False)  # of a settled label column
    rows: int = 0  # of the table that was last accepted
    # Shares of its marked records that had another row as like them, by `rules.LACKED`.
    again: Sequence[float] = ()
    # How many other rows were as like each marked record, by `rules.LACKED`: the fewest as long as it was there.
    like: dict[str, Sequence[int]] = field(default_factory=dict, repr=False)
    moved: float = 0.0  # the most of the first use's, as far as gone, that had other ids or cells
    swapped: float = 0.0  # and how many, at one export or the next, with an id that another record had

    def renewed(self, now: CellMarks) -> "Marks":
        """Return these marks with the cells of now, of the first records and of the last ones."""
        order = sorted(now)
        first = {record: now.get(record, "") or self.first[record] for record in self.first or order[:MARKED]}
        last = {record: now[record] for record in order[-MARKED:]}
        like = {record: self.like[record] for record in {**first, **last} if record in self.like}
        return replace(self, first=first, last=last, like=like)


def fingerprints(secret: bytes, records: Sequence[bytes]) -> Words:
    """Return a keyed number of each record, shape (rows,)."""
    digests = b"".join(hashlib.blake2b(record, digest_size=8, key=secret).digest() for record in records)
    return np.frombuffer(digests, "<u8")


def marks_of(secret: bytes, cells: Words) -> Cells:
    """Return the marks of some records' cells, shape (rows, columns)."""
    blocks = np.empty((*cells.shape, 2), "<u8")
    blocks[..., 0], blocks[..., 1] = np.arange(cells.shape[1]), cells
    cipher = Cipher(algorithms.AES256(secret), modes.ECB())
    digests = np.frombuffer(cipher.encryptor().update(blocks.tobytes()), "<u2").reshape(*cells.shape, 8)
    return digests[..., 0].copy()


def hex_marks(cells: Cells) -> list[str]:
    """Return the marks of records as they are kept, a text for each record."""
    return [row.tobytes().hex() for row in cells]


def marked_now(kept: Marks, prints: Words, cells: Cells) -> CellMarks:
    """Return the marks that are compared or kept, of records with these fingerprints and marks of cells."""
    order = np.argsort(prints, kind="stable")
    first = order[:0] if kept.first else order[:MARKED]
    known = np.flatnonzero(np.isin(prints, from_hex([*kept.first, *kept.last])))
    rows = np.unique(np.concatenate([first, known, order[-MARKED:]]))
    return dict(zip(to_hex(prints[rows]), hex_marks(cells[rows]), strict=True))


def label_rows(prints: Words, labels: NDArray[np.str_]) -> Ints:
    """Return the rows by which a label column is known again: some of each label."""
    order = np.argsort(prints, kind="stable")
    rows = [order[labels[order] == name][:OF_A_LABEL] for name in np.unique(labels)[:MOST_CLASSES]]
    return np.sort(np.concatenate(rows))


def to_hex(words: Words) -> list[str]:
    """Return fingerprints as they are kept."""
    return [f"{word:016x}" for word in words.tolist()]


def from_hex(texts: Sequence[str]) -> Words:
    """Return the fingerprints that :func:`to_hex` wrote."""
    return np.array([int(text, 16) for text in texts], dtype=np.uint64)


def read_marks(texts: Sequence[str], columns: int) -> Cells:
    """Return the marks that :func:`hex_marks` wrote, shape (records, columns)."""
    return np.frombuffer(bytes.fromhex("".join(texts)), "<u2").reshape(-1, columns)
