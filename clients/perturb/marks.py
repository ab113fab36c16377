"""Marks by which a hospital notices that a column, or the ids of the records, changed since its copy was made.

A changed cell has an independent second copy, and both together are worth σ/√2. Where a person corrects some cells,
that is the price. Where a whole column is converted or the ids have moved, all records would pay it; so the table is
refused, and a person decides. Marks are keyed digests, of a fixed number of records: the first use's, and the table's
when it was last accepted, among which are those that came later. Which records these are follows from the key. Records
that are there again, under other ids or with a few other cells, are refused, too: by the cells that stay an attacker
would know which two copies are one record's. Of few codes alone nobody does, and no comparison tells them apart.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
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
UNLIKE = 0.25  # share of the first use's records that may be there again with other ids or cells, in all
LACKED = (0.0, 0.125, 0.25, 0.375, 0.5)  # shares of a record's information in which two rows may differ
SURE = 4.0  # standard errors by which shares differ for certain
TWICE = 0.1  # share of the marked records that may be there twice at first use
COMPARED = 64  # columns, those in which records differ most
SPARSE = 0.75  # share of a column's cells that are equal, from which on only the others count
GONE_WITHOUT_IDS = 0.25  # a record without an id that was changed looks as if it was gone

Words = NDArray[np.uint64]
Cells = NDArray[np.uint16]
CellMarks = dict[str, str]  # by the fingerprint of a record: the marks of its cells

CHANGED = (
    "The table is not as it was when its copy for level perturbed was made, and records would get a second copy. The "
    "hospital's own log says what has changed. Put it back as it was; or its operator ends the copy (pansvm budget "
    "--help says what that costs)."
)
"""All that a coordinator learns of what the marks have shown."""

TWO_COPIES = (
    "The table has records twice, and at level perturbed each of the two rows would have a copy of its own. The "
    "hospital's own log says more. Leave the second rows out."
)
"""The same of a table whose copy is to begin."""


@dataclass(frozen=True)
class Marks:
    """Marks of some records' cells: four hexadecimal digits for each column."""

    first: CellMarks = field(default_factory=dict, repr=False)  # of the first use; cells as last accepted
    last: CellMarks = field(default_factory=dict, repr=False)  # of the table that was last accepted
    labels: dict[str, CellMarks] = field(default_factory=dict, repr=False)  # of a settled label column
    rows: int = 0  # of the table that was last accepted
    # Which shares of its marked records had another row as like them, by `LACKED`.
    again: Sequence[float] = ()
    # How many other rows were as like each marked record, by `LACKED`: the fewest as long as it was there.
    like: dict[str, Sequence[int]] = field(default_factory=dict, repr=False)
    moved: float = 0.0  # how many of the first use's are there with other ids or cells
    swapped: float = 0.0  # and how many, at one export or the next, with an id that another record had


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


def written(cells: Cells) -> list[str]:
    """Return the marks of records as they are kept, a text for each record."""
    return [row.tobytes().hex() for row in cells]


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
            f"{cause}, or calibrated, shifted, rounded, coded anew, or filled or scaled by what all rows are? "
            "Convert it back; leave missing cells empty, and export an age as it was at a fixed day.",
        )
    lasting = np.where(after == _cells([empty], len(names)), before, after)
    now = now | {record: row.tobytes().hex() for record, row in zip(there, lasting, strict=True)}
    order = sorted(now)
    first = {record: now.get(record, "") or marks.first[record] for record in marks.first or order[:MARKED]}
    last = {record: now[record] for record in order[-MARKED:]}
    return replace(marks, first=first, last=last)


def _telling(before: Cells, after: Cells, filled: NDArray[np.bool_]) -> Ints:
    """Return of how many cells of each column a share may change: of a sparse one's, not of its many equal ones."""
    counted: Ints = filled.sum(axis=0)
    for index in range(before.shape[1]):
        values, counts = np.unique(before[filled[:, index], index], return_counts=True)
        if counts.max(initial=0) > SPARSE * counted[index]:
            usual = filled[:, index] & (before[:, index] == values[counts.argmax()])
            counted[index] -= (usual & (after[:, index] == before[:, index])).sum()
    return counted


def check_not_again(
    marks: Marks, now: CellMarks, prints: Words, cells: Cells, by_ids: bool, patients: NDArray[np.str_] | None
) -> Marks:
    """Return marks with how alike rows are; TableError if records are there again, or more alike than they were.

    Each would have a second copy, and as most of its cells are the same it shows of which record. A record whose id is
    gone, or that without ids is gone, may be there under another one, or with a few other cells: then more rows are
    like it than before, which is rarer of those that are there. A second source of the same patients makes pairs.

    Parameters
    ----------
    marks : Marks
        What is kept.
    now : dict
        Of the rows that :func:`rows_to_mark` returns.
    prints : ndarray of shape (rows,)
        Fingerprints of the records.
    cells : ndarray of shape (rows, columns)
        Marks of their cells.
    by_ids : bool
        Whether records are known by ids.
    patients : ndarray of shape (rows,) or None
        The patient of each row, if known: rows of one may be alike.
    """
    known = {**marks.first, **marks.last}
    gone = {record: text for record, text in known.items() if now.get(record) != text}
    whose = None if patients is None else np.unique(patients, return_inverse=True)[1]
    of = _cells([*gone.values(), *now.values()], cells.shape[1])
    like, of_others, bits = _likeness(as_words([*gone, *now]), of, prints, cells, whose)
    never = [np.iinfo(np.int64).max] * len(LACKED)
    had = np.array([marks.like.get(record, never) for record in [*gone, *now]])
    lost, stayed = np.split(like > had, [len(gone)])
    stayed = stayed[[record in known for record in now]]
    of_first, changed = (np.array([r in of for r in gone], dtype=np.bool_) for of in (marks.first, now))
    moved, in_all = (_more_alike(lost[some & ~changed], stayed) for some in (True, of_first))
    swapped = marks.swapped + _more_alike(lost[of_first & changed], stayed)
    if moved - marks.moved >= max(LEAST_MOVED, MOVED * len(known)) or in_all + swapped >= max(
        LEAST_MOVED, UNLIKE * len(marks.first)
    ):
        which = (
            "are there with other row ids. Are ids written otherwise (blanks, upper and lower case, leading zeros, "
            "another hash), or counted anew? Put them back."
            if by_ids
            else "have a few other cells (a unit, a format, what is computed of all rows). Put them back; export what "
            "changes by itself, such as an age, as it was at a fixed day. Without row-id a corrected cell is a second "
            "copy of its record: at once one in twenty may have one, in all a quarter."
        )
        raise TableError(CHANGED, f"Of the records {(moved + swapped) / len(known):.0%} {which}")
    there = of_others[len(gone) :] > 0
    shares = there.mean(axis=0)
    before = np.array(marks.again or [1.0] * len(LACKED))
    growth = max(1.0, len(prints) / (marks.rows or np.inf))
    usual = (before * growth).clip(max=1)
    most = (before + MOVED) * growth + SURE * np.sqrt(2 * usual * (1 - usual) / len(there))
    more = (shares > most) & (shares * len(there) >= LEAST_MOVED)
    # By chance hardly any, even if columns go together and have two thirds of the information that they seem to have.
    # Without ids equal rows are one record, of which each label has a draw of its own.
    records, times = np.unique(prints, return_counts=True)
    again = there[:, 0] | (np.isin(as_words([*now]), records[times > 1]) & (patients is None))
    twice = np.count_nonzero(again & (bits[len(gone) :] >= 3 * math.log2(len(prints))))
    if more.any() or twice >= max(LEAST_MOVED, TWICE * len(there)):
        share = max([twice / len(there), *shares[more]])
        raise TableError(
            CHANGED if marks.rows else TWO_COPIES,
            f"Of the records {share:.0%} are there twice, with all cells or most the same. Was the table merged with "
            "another source of the same patients, or has a patient several rows? Leave the second rows out"
            + "; or name a patient-id" * (patients is None)
            + ", which needs a new budget: pansvm budget --help" * (patients is None and bool(marks.rows))
            + ".",
        )
    fewest = dict(zip([*gone, *now], np.minimum(like, had).tolist(), strict=True))
    again = shares.tolist()
    return replace(marks, rows=len(prints), again=again, moved=in_all, swapped=swapped, like=fewest)


def _likeness(records: Words, of: Cells, prints: Words, cells: Cells, whose: Ints | None) -> tuple[Ints, ...]:
    """Return how many other rows lack at most a share of each record's information, by `LACKED`, and the information.

    Second, the same of other patients' rows, where ``whose`` they are is known, shape (rows,).

    A cell's information is the fewer rows have it: -log2 of their share, in whole bits. ``of`` are the records' cells.
    """
    n, varied = len(cells), [len(np.unique(column)) for column in of.T]
    compared = np.argsort(varied, kind="stable")[-COMPARED:]
    columns = [cells[:, index] for index in compared]
    of = of[:, compared]
    rows_with = np.array(
        [np.bincount(column, minlength=2**16)[mine] for column, mine in zip(columns, of.T, strict=True)]
    )
    bits = np.rint(np.log2(n / rows_with.clip(1))).astype(np.uint16)
    whole: Ints = bits.sum(axis=0, dtype=np.int64).clip(1)
    least = np.ceil(whole[:, None] * (1 - np.array(LACKED))).astype(np.uint16)
    like = np.empty((len(of), len(LACKED)), np.int64)
    of_others = like if whose is None else np.empty_like(like)
    for index, (record, mine) in enumerate(zip(records.tolist(), of, strict=True)):
        shared = np.zeros(n, dtype=np.uint16)
        for column, cell, worth in zip(columns, mine, bits[:, index], strict=True):
            shared += (column == cell) * worth
        own = prints == record
        shared[own] = 0
        like[index] = [np.count_nonzero(shared >= enough) for enough in least[index]]
        if whose is not None:
            shared[np.isin(whose, whose[own][:1])] = 0
            of_others[index] = [np.count_nonzero(shared >= enough) for enough in least[index]]
    return like, of_others, whole


def _more_alike(gone: NDArray[np.bool_], there: NDArray[np.bool_]) -> float:
    """Return how many more of the records that are gone than of those that are there are like rows, by `LACKED`."""
    if not len(gone) or not len(there):
        return 0.0
    found = [0.0]
    for lost, stayed in zip(gone.T, there.T, strict=True):
        both = np.mean(np.concatenate([lost, stayed]))
        error = np.sqrt(both * (1 - both) * (1 / len(lost) + 1 / len(stayed)))
        if lost.mean() - stayed.mean() > SURE * error:
            found.append(float(lost.mean() - stayed.mean()) * len(lost))
    return max(found)


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

    def kept(before: str, now: str) -> bool:
        """Tell whether a label is written as before, though that of some records is pending now."""
        return before == now or pairs[before, before] > pairs[before, now]

    return all(kept(a, b) and kept(c, d) for a, b, c, d in alike) or None if alike else False


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
