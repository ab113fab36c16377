"""The rules by which a hospital refuses a table of whose records it would make second copies at level perturbed.

A copy follows from the hospital's key, the record (its id; without ids, all its cells), the column and the cell. So a
cell has a second, independent copy, and both are worth σ/√2, only if it changes (rule 2), its record's id does (1, 3),
its record is there twice (4) or its column has another name (5). Where a person corrects some cells, that is the price;
a table of which many records would pay it is refused, and a person decides. Compared are, in this order:

1. `check_records_stay`: the marked records, with those that are there. Ids that moved are others (`moved-ids`).
2. `check_columns_stay`: their cells, with those of before. Another unit changes most of a column (`unit-change`).
3. `check_few_came_back`: how many rows are like the records that are gone, with before. With another id, or without ids
   another cell, a record is one more such row; those that stayed show what comes by chance. Where another record has
   its id now, few an export do, so they count in all exports together.
4. `check_no_second_source`: how many records have another row like them, with before (`second-source`); and how many
   have an equal one that none has by chance, so that no copy begins with two of each.
5. `labels_moved`, `same_labels`: marked labels, with those of each settled label column (`renamed-label`).

The key draws the marked records, so what happens to many records happens to some of them. What passes is less than the
rules' shares, as corrections are, and records of few codes: no comparison tells whose these are, nor does an attacker.
"""

import math
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from clients.perturb.marks import CellMarks, Cells, Marks, Words, from_hex, hex_marks, marked_now, read_marks
from clients.table.table import columns_text
from flower_pansvm.arrays import Bools, Ints
from flower_pansvm.errors import TableError

# Shares of the marked records.
CORRECTED = 0.05  # people correct fewer at once; a conversion changes most
CORRECTED_IN_ALL = 0.25  # without ids, in many months: each correction is a second copy, so they have an end
TWICE = 0.1  # some patients are entered twice; a second source has most of them
GONE = 0.5  # patients leave, but not most of them at once; of ids that are written otherwise all are gone
GONE_WITHOUT_IDS = 0.25  # fewer, as a corrected record looks as if it was gone
# Numbers of marked records, and what tells whether rows, columns or labels are alike.
FEW = 4  # the first above `CORRECTED` of 64; in a small table, too, fewer are single corrections
FREQUENT = 8  # that have a pair of labels: fewer are slips
LACKED = (0.0, 0.125, 0.25, 0.375, 0.5)  # shares of a record's information: rows that lack more share little
COMPARED = 64  # columns, those in which records differ most: enough to tell them apart, in limited time
SURE = 4.0  # standard errors by which shares differ for certain: by chance one in 30,000 does
RARE = 3  # times log2(rows) bits: if a third of them is said twice, by columns that go together, 1 in `rows` has a twin
SPARSE = 0.75  # share of a column's cells that are equal, as 0, which no unit changes: only the others count
FOLLOW = 0.9  # share of a label's records that go to one of two others where the others follow from it

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
class Export:
    """A table that is compared with the one before."""

    prints: Words  # fingerprints of the records, shape (rows,)
    cells: Cells  # marks of their cells, shape (rows, columns)
    no_cells: Cells  # marks of empty cells, shape (1, columns)
    names: Sequence[str]  # of the columns, for the hospital's own log
    by_ids: bool  # whether records are known by ids
    patients: NDArray[np.str_] | None  # whose each row is, if known, shape (rows,): rows of one may be alike


def checked_marks(kept: Marks, export: Export, repeats: bool) -> Marks:
    """Return the marks to keep of a table that the rules let pass, empty ones before the first use; else TableError.

    A cell that is filled in has one copy, as before. A cell that is emptied keeps its mark: it may come back converted.
    Where rows may be there twice (``repeats``), as a researcher's own, none are compared with others.
    """
    now = marked_now(kept, export.prints, export.cells)
    known = {**kept.first, **kept.last}
    check_records_stay(kept.last.keys(), now.keys(), export.by_ids)
    there = [record for record in known if record in now]
    before, after = (read_marks([side[r] for r in there], len(export.names)) for side in (known, now))
    check_columns_stay(before, after, export)
    lasting = hex_marks(np.where(after == export.no_cells, before, after))
    now |= zip(there, lasting, strict=True)
    if not repeats:
        gone = {record: text for record, text in known.items() if now.get(record) != text}
        cells = read_marks([*gone.values(), *now.values()], len(export.names))
        like, of_others, bits = _count_alike_rows(from_hex([*gone, *now]), cells, export)
        never = [np.iinfo(np.int64).max] * len(LACKED)  # a record was not there: no number is more
        fewest = np.array([kept.like.get(record, never) for record in [*gone, *now]])  # shape as `like`
        lost, stayed = np.split(like > fewest, [len(gone)])  # whether more rows are like a record than before
        stayed = stayed[[record in known for record in now]]
        of_first = np.array([record in kept.first for record in gone], dtype=np.bool_)
        # Whether another record has its id now.
        is_replaced = np.array([record in now for record in gone], dtype=np.bool_)
        came_back = _came_back(lost[~is_replaced], stayed)
        in_all = _came_back(lost[of_first & ~is_replaced], stayed)
        swapped = kept.swapped + _came_back(lost[of_first & is_replaced], stayed)
        check_few_came_back(kept, came_back, in_all, swapped, export.by_ids)
        has_twin = of_others[len(gone) :] > 0  # whether a record has another row like it, shape (now, shares)
        # Without ids equal rows are one record, of which each label has a draw of its own.
        records, times = np.unique(export.prints, return_counts=True)
        equal = has_twin[:, 0] | (np.isin(from_hex([*now]), records[times > 1]) & (export.patients is None))
        rare = bits[len(gone) :] >= RARE * math.log2(len(export.prints))
        check_no_second_source(kept, has_twin, equal & rare, export)
        likes = dict(zip([*gone, *now], np.minimum(like, fewest).tolist(), strict=True))
        again, moved = has_twin.mean(axis=0).tolist(), float(np.clip(kept.moved, in_all, of_first.sum()))
        kept = replace(kept, rows=len(export.prints), again=again, moved=moved, swapped=swapped, like=likes)
    return kept.renewed(now)


def check_records_stay(last: Set[str], now: Set[str], by_ids: bool) -> None:
    """Refuse a table where of the last one's marked records more than `GONE` are gone."""
    if last and (gone := 1 - len(last & now) / len(last)) > (GONE if by_ids else GONE_WITHOUT_IDS):
        cause = (
            "many patients have left the table, or the row ids are written otherwise (blanks, upper and lower case, "
            "leading zeros, another column)"
            if by_ids
            else "at least one cell of each, as no row-id tells records apart: a unit, a format, a corrected column"
        )
        raise TableError(CHANGED, f"Of the records {gone:.0%} are gone. What has changed is: {cause}.")


def check_columns_stay(before: Cells, after: Cells, export: Export) -> None:
    """Refuse a table where of a column's marked cells `CORRECTED` have changed; of few cells half, but no single one.

    Cells that are missing before or after do not count. Both are of the records that stayed, shape (records, columns).
    """
    filled = (before != export.no_cells) & (after != export.no_cells)
    changed, telling = ((before != after) & filled).sum(axis=0), filled.sum(axis=0)
    for index, there in enumerate(filled.T):
        values, counts = np.unique(before[there, index], return_counts=True)
        if counts.max(initial=0) > SPARSE * telling[index]:
            usual = there & (before[:, index] == values[counts.argmax()])
            telling[index] -= (usual & (after[:, index] == before[:, index])).sum()
    moved = changed >= np.maximum((telling / 2).clip(FEW / 2, FEW), CORRECTED * telling)
    if moved.any():
        which = columns_text([name for name, has_moved in zip(export.names, moved, strict=True) if has_moved])
        cause = "Have the row ids moved" if moved.mean() > 0.5 else "Was it exported in another unit"
        raise TableError(
            CHANGED,
            f"In {which}, {(changed / filled.sum(axis=0).clip(1))[moved].min():.0%} or more of the cells have changed. "
            f"{cause}, or calibrated, shifted, rounded, coded anew, or filled or scaled by what all rows are? "
            "Convert it back; leave missing cells empty, and export an age as it was at a fixed day.",
        )


def check_few_came_back(kept: Marks, came_back: float, in_all: float, swapped: float, by_ids: bool) -> None:
    """Refuse a table in which `CORRECTED` of the marked records came back at once, or `CORRECTED_IN_ALL` in all.

    ``swapped`` came back with an id that another record had: few at an export, so they count in all exports together.
    """
    first, known, ever = len(kept.first), len({**kept.first, **kept.last}), in_all + swapped
    if _too_many(came_back - kept.moved, CORRECTED, known) or _too_many(ever, CORRECTED_IN_ALL, first):
        which = (
            "are there with other row ids. Are ids written otherwise (blanks, upper and lower case, leading zeros, "
            "another hash), or counted anew? Put them back."
            if by_ids
            else "have a few other cells (a unit, a format, what is computed of all rows). Put them back; export what "
            "changes by itself, such as an age, as it was at a fixed day. Without row-id a corrected cell is a second "
            "copy of its record: at once one in twenty may have one, in all a quarter."
        )
        raise TableError(CHANGED, f"Of the records {(came_back + swapped) / known:.0%} {which}")


def _came_back(lost: Bools, stayed: Bools) -> float:
    """Return how many of the gone records came back: more rows are like them, beyond what those that stayed show.

    ``lost`` and ``stayed``, shape (records, shares), say which have more such rows; the share that shows most counts.
    """
    if not len(lost) or not len(stayed):
        return 0.0
    both = np.concatenate([lost, stayed]).mean(axis=0)
    error = np.sqrt(both * (1 - both) * (1 / len(lost) + 1 / len(stayed)))
    more = lost.mean(axis=0) - stayed.mean(axis=0)
    return float((more * len(lost))[more > SURE * error].max(initial=0.0))


def check_no_second_source(kept: Marks, has_twin: Bools, twice: Bools, export: Export) -> None:
    """Refuse a table where marked records with a row like them are more by `CORRECTED`, or `TWICE` have an equal one.

    ``has_twin``, of shape (records, shares), is by `LACKED`; ``twice``, of shape (records,), if by chance none has one.
    """
    shares, growth = has_twin.mean(axis=0), max(1.0, len(export.prints) / (kept.rows or np.inf))
    before = np.array(kept.again or [1.0] * len(LACKED))
    usual = (before * growth).clip(max=1)  # of more rows, more are alike by chance
    most = (before + CORRECTED) * growth + SURE * np.sqrt(2 * usual * (1 - usual) / len(has_twin))
    more = (shares > most) & (shares * len(has_twin) >= FEW)
    if more.any() or _too_many(int(twice.sum()), TWICE, len(twice)):
        share = max([twice.mean(), *shares[more]])
        raise TableError(
            CHANGED if kept.rows else TWO_COPIES,
            f"Of the records {share:.0%} are there twice, with all cells or most the same. Was the table merged with "
            "another source of the same patients, or has a patient several rows? Leave the second rows out"
            + "; or name a patient-id" * (export.patients is None)
            + ", which needs a new budget: pansvm budget --help" * (export.patients is None and kept.rows > 0)
            + ".",
        )


def _count_alike_rows(records: Words, cells: Cells, export: Export) -> tuple[Ints, Ints, Ints]:
    """Return how many other rows lack at most a share of each record's information, by `LACKED`, and the information.

    The first is of shape (records, shares); the second, too, of other patients' rows, where it is known whose they are.
    A cell's information is -log2 of the share of rows that have it, in whole bits. ``cells`` are the records'.
    """
    whose = None if export.patients is None else np.unique(export.patients, return_inverse=True)[1]
    n, varied = len(export.prints), [len(np.unique(column)) for column in cells.T]
    compared = np.argsort(varied, kind="stable")[-COMPARED:]
    columns, cells = [export.cells[:, index] for index in compared], cells[:, compared]
    having = [np.bincount(column, minlength=2**16)[own] for column, own in zip(columns, cells.T, strict=True)]
    bits = np.rint(np.log2(n / np.array(having).clip(1))).astype(np.uint16)
    whole: Ints = bits.sum(axis=0, dtype=np.int64).clip(1)
    least = np.ceil(whole[:, None] * (1 - np.array(LACKED))).astype(np.uint16)
    like = np.empty((len(cells), len(LACKED)), np.int64)
    of_others = like if whose is None else np.empty_like(like)
    for index, (record, mine) in enumerate(zip(records.tolist(), cells, strict=True)):
        shared = np.zeros(n, dtype=np.uint16)
        for column, cell, worth in zip(columns, mine, bits[:, index], strict=True):
            shared += (column == cell) * worth
        own = export.prints == record
        shared[own] = 0
        like[index] = [np.count_nonzero(shared >= enough) for enough in least[index]]
        if whose is not None:
            shared[np.isin(whose, whose[own][:1])] = 0
            of_others[index] = [np.count_nonzero(shared >= enough) for enough in least[index]]
    return like, of_others, whole


def _too_many(changed: float, share: float, records: int) -> bool:
    """Tell whether more records have changed than people change."""
    return changed >= max(FEW, share * records)


def labels_moved(before: CellMarks, now: CellMarks) -> bool:
    """Tell whether more labels of a settled column have changed than people correct."""
    there = before.keys() & now.keys()
    return _too_many(sum(before[record] != now[record] for record in there), CORRECTED, len(there))


def same_labels(before: CellMarks, now: CellMarks) -> bool | None:
    """Tell whether labels are those of a settled column; None if so, but written otherwise.

    They are if of two labels nearly all records have one of two others each, or the other way round. Records with a
    third label do not count: outcomes that are pending, in another part of the records in each export.
    """
    there = before.keys() & now.keys()
    pairs = Counter((before[record], now[record]) for record in there)
    often = [{label for label, _ in Counter(side[r] for r in there).most_common(2)} for side in (before, now)]
    counted = [p for p in pairs if pairs[p] >= FREQUENT or (p[0] in often[0] and p[1] in often[1])]
    alike = [
        pair + other
        for pair, other in combinations(counted, 2)
        if pair[0] != other[0] and pair[1] != other[1] and _go_to_each_other(pairs, pair, other)
    ]

    def is_kept(before: str, now: str) -> bool:
        """Tell whether a label is written as before, though that of some records is pending now."""
        return before == now or pairs[before, before] > pairs[before, now]

    if not alike:
        return False
    return all(is_kept(a, b) and is_kept(c, d) for a, b, c, d in alike) or None


def _go_to_each_other(pairs: Counter[tuple[str, str]], pair: tuple[str, str], other: tuple[str, str]) -> bool:
    """Tell whether of two labels each goes to one of two others, or the other way round."""
    (a, b), (c, d) = pair, other
    both = pairs[pair], pairs[other]
    crossed = (pairs[a, d], pairs[c, b]), (pairs[c, b], pairs[a, d])
    return any(
        all(count >= FOLLOW * (count + more) for count, more in zip(both, others, strict=True))
        for others in crossed
    )
