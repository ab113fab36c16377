"""Marks by which a hospital notices that a column, or the ids of the records, changed since its copy was made.

A changed cell has an independent second copy, and both together are worth σ/√2. Where a person corrects some cells,
that is the price. Where a whole column is converted or the ids have moved, all records would pay it; so the table is
refused, and a person decides. Marks are keyed digests, of a fixed number of records: the first use's, and the table's
when it was last accepted, among which are those that came later. Which records these are follows from the key.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from clients.table.table import columns_text
from flower_pansvm.arrays import Ints
from flower_pansvm.errors import TableError
from flower_pansvm.labels import MOST_CLASSES

MARKED = 64  # records of the first use, and as many of the last one
MOVED, LEAST_MOVED = 0.05, 4  # share and number of a column's marks that may not change at once; of few, half
OF_A_LABEL, FREQUENT = 32, 8  # marked records of a label at most, and of a pair by which a column is known
FOLLOW = 0.9  # share of a label's records that go to one of two others where the others follow from it
GONE = 0.5  # share of the last table's marked records that may not be gone at once
UNLIKE = 0.25  # by how much more of those that are gone may be there under another id than records are alike
SPARSE = 0.75  # share of a column's cells that are equal, from which on only the others count
GONE_WITHOUT_IDS = 0.25  # a record without an id that was changed looks as if it was gone
BY_CHANCE = 0.95  # share of records that share no more cells with another row than are shared by chance

Words = NDArray[np.uint64]
Cells = NDArray[np.uint16]
CellMarks = dict[str, str]  # by the fingerprint of a record: the marks of its cells

CHANGED = (
    "The table is not as it was when its copy for level perturbed was made, and records would get a second copy. The "
    "hospital's own log says what has changed. Put it back as it was; or its operator ends the copy (pansvm budget "
    "--help says what that costs)."
)
"""All that a coordinator learns of what the marks have shown."""


@dataclass(frozen=True)
class Marks:
    """Marks of some records' cells: four hexadecimal digits for each column."""

    first: CellMarks = field(default_factory=dict, repr=False)  # of the first use; cells as last accepted
    last: CellMarks = field(default_factory=dict, repr=False)  # of the table that was last accepted
    labels: dict[str, CellMarks] = field(default_factory=dict, repr=False)  # of a settled label column
    rows: int = 0  # of the table that was last accepted
    again: float = 0.0  # which share of its marked records was there again, under other ids


def fingerprints(secret: bytes, records: Sequence[bytes]) -> Words:
    """Return a keyed number of each record, shape (rows,)."""
    digests = b"".join(hashlib.blake2b(record, digest_size=8, key=secret).digest() for record in records)
    return np.frombuffer(digests, "<u8")


def marks_of(secret: bytes, cells: Words) -> list[str]:
    """Return the marks of some records' cells, shape (rows, columns), as one text for each record."""
    blocks = np.empty((*cells.shape, 2), "<u8")
    blocks[..., 0], blocks[..., 1] = np.arange(cells.shape[1]), cells
    cipher = Cipher(algorithms.AES256(secret), modes.ECB())
    digests = np.frombuffer(cipher.encryptor().update(blocks.tobytes()), "<u2").reshape(*cells.shape, 8)
    return [row.tobytes().hex() for row in digests[..., 0]]


def rows_to_mark(prints: Words, marks: Marks) -> Ints:
    """Return the rows whose marks are compared or kept, of records with these fingerprints, shape (rows,)."""
    order = np.argsort(prints, kind="stable")
    first = order[:0] if marks.first else order[:MARKED]
    known = np.flatnonzero(np.isin(prints, as_words([*marks.first, *marks.last])))
    return np.unique(np.concatenate([first, known, order[-MARKED:]]))


def accepted(marks: Marks, now: CellMarks, empty: str, names: Sequence[str], by_ids: bool) -> Marks:
    """Return the marks of a table after a comparison with those of its copy; TableError if it has changed.

    A cell that is filled in has one copy, as before. A cell that is emptied keeps its mark: it may come back converted.

    Parameters
    ----------
    marks : Marks
        What is kept; empty at the first use.
    now : dict
        Of the rows that :func:`rows_to_mark` returns.
    empty : str
        The marks of a record without any cell.
    names : sequence of str
        The columns, for the hospital's own log.
    by_ids : bool
        Whether records are known by ids.
    """
    known = {**marks.first, **marks.last}
    there = [record for record in known if record in now]
    gone = 1 - len(now.keys() & marks.last.keys()) / max(len(marks.last), 1)
    if known and gone > (GONE if by_ids else GONE_WITHOUT_IDS):
        cause = (
            "many patients have left the table, or the row ids are written otherwise (blanks, upper and lower case, "
            "leading zeros, another column)"
            if by_ids
            else "at least one cell of each, as no row-id tells records apart: a unit, a format, a corrected column"
        )
        raise TableError(CHANGED, f"Of the records {gone:.0%} are gone. What has changed is: {cause}.")
    before, after = (_cells([of[record] for record in there], len(names)) for of in (known, now))
    filled = np.logical_and(*(cells != _cells([empty], len(names)) for cells in (before, after)))
    changed = ((before != after) & filled).sum(axis=0)
    telling = _telling(before, after, filled)
    moved = changed >= np.maximum((telling / 2).clip(2, LEAST_MOVED), MOVED * telling)
    if moved.any():
        which = columns_text([name for name, has_moved in zip(names, moved, strict=True) if has_moved])
        cause = "Have the row ids moved" if moved.mean() > 0.5 else "Was it exported in another unit"
        raise TableError(
            CHANGED,
            f"In {which}, {(changed / filled.sum(axis=0).clip(1))[moved].min():.0%} or more of the cells have changed. "
            f"{cause}, or calibrated, rounded or coded anew? Convert it back.",
        )
    lasting = np.where(after == _cells([empty], len(names)), before, after)
    now = now | {record: row.tobytes().hex() for record, row in zip(there, lasting, strict=True)}
    order = sorted(now)
    first = {record: now.get(record, "") or marks.first[record] for record in marks.first or order[:MARKED]}
    return replace(marks, first=first, last={record: now[record] for record in order[-MARKED:]})


def _telling(before: Cells, after: Cells, filled: NDArray[np.bool_]) -> Ints:
    """Return of how many cells of each column a share may change: of a sparse one's, not of its many equal ones."""
    counted: Ints = filled.sum(axis=0)
    for index in range(before.shape[1]):
        values, counts = np.unique(before[filled[:, index], index], return_counts=True)
        if counts.max(initial=0) > SPARSE * counted[index]:
            usual = filled[:, index] & (before[:, index] == values[counts.argmax()])
            counted[index] -= (usual & (after[:, index] == before[:, index])).sum()
    return counted


def check_not_moved(known: CellMarks, prints: Words, rows: Iterable[list[str]]) -> None:
    """Check that records whose ids are gone are not there under other ids; else TableError.

    Other ids may be those of some records only: capital letters in one half of them.

    Parameters
    ----------
    known : dict
        Marks of records that were there.
    prints : ndarray of shape (rows,)
        Fingerprints of the records that are there now.
    rows : iterable of list of str
        Marks of these, some rows at a time.
    """
    still = np.isin(as_words([*known]), prints)
    if still.all():
        return
    wanted, times = {*known.values()}, Counter[str]()
    for texts in rows:
        times.update(text for text in texts if text in wanted)
    others = np.array([times[text] for text in known.values()]) - still
    gone, alike = others[~still] > 0, others[still] > 0
    # Where many records are alike, those that have left the table have others like them.
    if gone.sum() >= LEAST_MOVED and gone.mean() > (alike.mean() if len(alike) else 0.0) + UNLIKE:
        raise TableError(
            CHANGED,
            f"Of the records whose row ids are gone, {gone.mean():.0%} are there under other ids. Are ids written "
            "otherwise (blanks, upper and lower case, leading zeros)? Put them back.",
        )


def counted_again(marks: Marks, digests: Words, rows: Ints) -> Marks:
    """Return marks with the share of marked rows that are there again under other ids; TableError if it has grown.

    As after a merge with a second source: each such row has a second copy. By chance the share grows as the table does.

    Parameters
    ----------
    marks : Marks
        What is kept.
    digests : ndarray of shape (rows,)
        Fingerprints of the cells of each row, whatever its id.
    rows : ndarray of shape (marked,)
        The marked ones.
    """
    _, which, times = np.unique(digests, return_inverse=True, return_counts=True)
    twice = times[which[rows]] > 1
    most = (marks.again + MOVED) * max(1.0, len(digests) / max(marks.rows, 1))
    if marks.rows and twice.sum() >= LEAST_MOVED and twice.mean() > most:
        raise TableError(
            CHANGED,
            f"Of the records {twice.mean():.0%} are there twice, with all cells the same and other row ids. Was the "
            "table merged with another source of the same patients? Leave the second rows out.",
        )
    return replace(marks, rows=len(digests), again=float(twice.mean()))


def check_not_corrected(known: CellMarks, prints: Words, rows: Iterable[list[str]]) -> None:
    """Check that records without ids that are gone are not there with a few other cells; else TableError.

    Each is a second copy, and which one belongs to which first one shows. A record that is there still tells how many
    cells another row shares by chance. Parameters as above.
    """
    still = np.isin(as_words([*known]), prints)
    if len(still) - still.sum() < LEAST_MOVED or not still.any():
        return
    compared = np.concatenate([np.flatnonzero(~still), np.flatnonzero(still)[:MARKED]])
    columns = len(next(iter(known.values()))) // 4
    before = _cells([*known.values()], columns)[compared]
    shared = np.zeros(len(compared), dtype=np.int64)
    for texts in rows:
        cells = _cells(texts, columns)
        for index, record in enumerate(before):
            equal = (cells == record).sum(axis=1)
            shared[index] = max(shared[index], equal[equal < columns].max(initial=0))
    gone = ~still[compared]
    corrected = shared[gone] > np.quantile(shared[~gone], BY_CHANCE, method="higher")
    if corrected.sum() >= max(LEAST_MOVED, MOVED * len(known)):
        raise TableError(
            CHANGED,
            f"Of the records {corrected.sum() / len(known):.0%} have a few other cells. Put them back; export what "
            "changes by itself, such as an age, as it was at a fixed day. With a row-id from the first use on, a "
            "corrected cell would get a second copy alone.",
        )


def label_rows(prints: Words, labels: NDArray[np.str_]) -> Ints:
    """Return the rows by which a label column is known again: some of each label."""
    order = np.argsort(prints, kind="stable")
    rows = [order[labels[order] == name][:OF_A_LABEL] for name in np.unique(labels)[:MOST_CLASSES]]
    return np.sort(np.concatenate(rows))


def labels_moved(before: CellMarks, now: CellMarks) -> bool:
    """Tell whether more labels of a settled column have changed than people correct."""
    there = before.keys() & now.keys()
    changed = sum(before[record] != now[record] for record in there)
    return changed >= max(LEAST_MOVED, MOVED * len(there))


def same_labels(before: CellMarks, now: CellMarks) -> bool | None:
    """Tell whether labels are those of a settled column; None if so, but written otherwise.

    They are if of two labels nearly all records have one of two others each, or the other way round. Records with a
    third label do not count: outcomes that are pending, in another part of the records in each export.
    """
    there = before.keys() & now.keys()
    pairs = Counter((before[record], now[record]) for record in there)
    often = [{label for label, _ in Counter(side[r] for r in there).most_common(2)} for side in (before, now)]

    def counted(pair: tuple[str, str]) -> bool:
        return pairs[pair] >= FREQUENT or (pair[0] in often[0] and pair[1] in often[1])

    alike = [
        pair + other
        for pair, other in combinations(filter(counted, pairs), 2)
        if pair[0] != other[0] and pair[1] != other[1] and _follow(pairs, pair, other)
    ]
    return all(a == b and c == d for a, b, c, d in alike) or None if alike else False


def _follow(pairs: Counter[tuple[str, str]], pair: tuple[str, str], other: tuple[str, str]) -> bool:
    """Tell whether of two labels each goes to one of two others, or the other way round."""
    (a, b), (c, d) = pair, other
    both = pairs[pair], pairs[other]
    for crossed in ((pairs[a, d], pairs[c, b]), (pairs[c, b], pairs[a, d])):
        if all(count >= FOLLOW * (count + more) for count, more in zip(both, crossed, strict=True)):
            return True
    return False


def _cells(texts: Sequence[str], columns: int) -> Cells:
    """Return the marks of records' cells, shape (records, columns)."""
    return np.frombuffer(bytes.fromhex("".join(texts)), "<u2").reshape(-1, columns)


def as_texts(words: Words) -> list[str]:
    """Return fingerprints as they are kept."""
    return [f"{word:016x}" for word in words.tolist()]


def as_words(texts: Sequence[str]) -> Words:
    """Return the fingerprints that :func:`as_texts` wrote."""
    return np.array([int(text, 16) for text in texts], dtype=np.uint64)
