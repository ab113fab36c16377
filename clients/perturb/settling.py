"""What the first use settles of a table's copy, and whether a later table is still the one whose copy was begun."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clients.ledger.ledger import Ledger, linked_ledger
from clients.perturb.draws import (
    PerturbedTerms,
    Unit,
    bits_of_cells,
    bits_of_labels,
    bits_of_texts,
    blocks_of,
    canonical,
    cipher_of,
    drawn,
    label_codes,
    unit_cells,
    units_of,
    words_of,
)
from clients.perturb.kept import (
    FARTHEST,
    FEWEST_RECORDS,
    Kept,
    kept_of,
    moments_of,
    noise_of_counts,
    settled_column,
    settled_labels,
    update_kept,
)
from clients.perturb.marks import Words, fingerprints, from_hex, hex_marks, label_rows, marks_of, to_hex
from clients.perturb.rules import CHANGED, Export, checked_marks, labels_moved, same_labels
from clients.perturb.shares import settled_draws
from clients.table.table import Table
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import TableError
from flower_pansvm.labels import plain_name, spelling
from flower_pansvm.privacy.discrete_noise import random_bits
from flower_pansvm.secure_sum import tags
from flower_pansvm.table_schema import TableSchema

# Of a schema file's [reading]: what `TableForm.readings` tells where it matters.
IN_READINGS = ("separator", "decimal", "thousands")
SETTLING = 2**14  # records of whose copies shares, quantiles and ends are settled
LARGER = 1.5  # times as large as the settled deviation that of later copies may not be; 1.3 is by chance
WIDER = 1.1  # nor that with far cells pulled in once: with a twentieth far, or without, `moments_of` ends by chance


def settled_of(
    table: Table, label: str, schema: TableSchema | None, terms: PerturbedTerms, key: Path | bytes
) -> Kept:
    """Return the settled values of a table's copy, at first use for good; see `clients.perturb.perturbed_table`."""

    def checked(kept: Kept, ledger: Ledger | None = None) -> Kept:
        _check_begun(kept, table, ledger)
        return _settle(kept, table, label, schema, terms)

    return checked(Kept(key.hex())) if isinstance(key, bytes) else update_kept(key, checked)


def check_settled(
    table: Table, label: str, schema: TableSchema | None, terms: PerturbedTerms, folder: Path
) -> None:
    """Raise the error that a run would end with for a table's copy, and settle nothing."""
    kept = kept_of(ledger := linked_ledger(folder))
    _check_begun(kept, table, ledger)
    _settle(kept, table, label, schema, terms)


def _check_begun(kept: Kept, table: Table, ledger: Ledger | None) -> None:
    """Raise a TableError unless a table can have a copy, and a hospital's, which has a ledger, begin one."""
    _check_ids(table, not kept.columns)
    if ledger is None:
        return
    # Sides and order of records have to follow from all by which the copy tells them apart: after a run with one column
    # of codes all records of a code are on one side, for good, and next to each other.
    if not (ledger.by_ids or (table.ids is None and set(ledger.columns) == set(table.columns))):
        raise TableError(
            "The table was first used with fewer columns, or without row ids, and records that were alike then are on "
            "one side of the split: beside copies of all columns this would tell true cells. Start the run with "
            "strategy=dp-svm, or with columns and ids as in the first run."
        )
    if not kept.columns and len(table.X) < FEWEST_RECORDS:
        raise TableError(
            f"The table has fewer than {FEWEST_RECORDS} records, too few to begin its copy for level "
            "perturbed: what they settle of deviations and codes stays for good. Begin with the whole table. "
            "If there are no more records, no level protects so few of them and is of use."
        )


def _settle(kept: Kept, table: Table, label: str, schema: TableSchema | None, terms: PerturbedTerms) -> Kept:
    """Return the kept values, with those that the first use settles; TableError if the table is another one."""
    units = units_of(table, schema)
    fields = [
        name for unit in units for name in (unit.name, *(table.columns[index] for index in unit.places))
    ]
    fields.append(_reading_text(table, schema))
    columns = hashlib.sha256(tags.join_fields(*map(str.encode, fields))).hexdigest()
    stated = {unit.name: unit.known.unit for unit in units if unit.known and unit.known.unit}
    mark_key = kept.derive(tags.RECORD_MARK, "features")
    prints = np.concatenate([fingerprints(mark_key, keys) for _, _, keys in blocks_of(table, units)])
    # Which rows settle does not depend on their order.
    settling = np.argsort(prints, kind="stable")[:SETTLING]
    has_begun, random = bool(kept.columns), random_bits(kept.derive(tags.PERTURBED, "columns"))
    if has_begun:
        kept.check_columns(columns, stated)
    else:
        noise = noise_of_counts(random)
        features = [
            settled_column(
                canonical(unit_cells(table.X, unit)), unit.codes, unit.ends, terms.min_cluster, noise, random
            )
            for unit in units
        ]
        kept = replace(kept, columns=columns, features=features)
    cells, words = _cells_and_words(kept, table, units, settling, terms)
    bits = bits_of_cells(cells, units)
    if not has_begun:
        features = settled_draws(kept.features, cells, bits, kept.secret(), words, terms, random)
        kept = replace(kept, features=features)

    marked = np.empty((len(table.X), len(units)), np.uint16, order="F")  # it is compared by columns
    for block, block_cells, _ in blocks_of(table, units):
        marked[block] = marks_of(mark_key, bits_of_cells(block_cells, units))
    no_cells = marks_of(mark_key, bits_of_cells(np.full((1, len(units)), np.nan), units))
    names = [unit.name for unit in units]
    export = Export(prints, marked, no_cells, names, table.ids is not None, table.patients)
    marks = checked_marks(kept.marks, export, terms.repeats)
    kept = replace(kept, units={**stated, **kept.units}, marks=marks)
    if has_begun:
        _check_deviations(kept, cells, bits, words, units, terms)
    if table.labels is None:
        return kept
    classes = sorted({*map(spelling, [*(schema.classes if schema else ()), *terms.classes])})
    return _settle_labels(kept, table.labels, label, classes, prints, settling, words[..., :1], terms)


def _settle_labels(
    kept: Kept,
    labels: NDArray[np.str_],
    label: str,
    classes: Sequence[str],
    prints: Words,
    rows: Ints,
    words: Words,
    terms: PerturbedTerms,
) -> Kept:
    """Return the kept values with those of a label column, which these rows, with their words, settle if it is new."""
    kept, new = _label_column(kept, labels, label, prints)
    if new is None:
        return kept
    random = random_bits(kept.derive(tags.PERTURBED, f"label {new}"))
    column = settled_labels(labels, classes, terms.min_cluster, random)
    kept = replace(kept, labels={**kept.labels, new: column})
    codes, bits = label_codes(labels, column)[rows], bits_of_labels(labels, prints)[rows]
    as_numbers = replace(column, values=range(len(column.values)))
    (begun,) = settled_draws([as_numbers], codes, bits, kept.secret(new), words, terms, random)
    return replace(kept, labels={**kept.labels, new: replace(begun, values=column.values)})


def _check_deviations(
    kept: Kept, cells: Floats, bits: Words, words: Words, units: Sequence[Unit], terms: PerturbedTerms
) -> None:
    """Raise a TableError if settled deviations, by which noise is measured, are those of records more alike than most.

    The deviation of a column's copies, before their ends are pulled in, may be half as large again as the settled one:
    the refusal tells no more than copies do.
    """
    cipher = cipher_of(kept.secret())
    for index, (column, unit) in enumerate(zip(kept.features, units, strict=True)):
        codes, x = drawn(cells[:, index], bits[:, index], column, cipher, words[..., index], terms.noise)
        x, usual = x[codes == len(column.values) + 1], column.deviation * math.sqrt(1 + terms.noise**2)
        if len(x) < min(2 * terms.min_cluster, FEWEST_RECORDS):
            continue
        inside = (x - np.median(x)).clip(-FARTHEST * column.deviation, FARTHEST * column.deviation)
        if inside.std() > WIDER * usual and moments_of(x)[1] > LARGER * usual:
            raise TableError(
                CHANGED,
                f"The copy was begun with records whose '{unit.name}' differs less: too little noise. Is a missing "
                "cell written otherwise, as -999? Leave it empty. Else leave out the records that differ more. After a "
                "pilot of few records end its copy: the fewer have one, the less this costs.",
            )


def _cells_and_words(
    kept: Kept, table: Table, units: Sequence[Unit], rows: Ints, terms: PerturbedTerms
) -> tuple[Floats, Words]:
    """Return the cells of some rows, as units, and the words of their records."""
    some = replace(table, X=table.X[rows], ids=None if table.ids is None else table.ids[rows])
    secret = kept.secret()
    parts = [
        (cells, words_of(secret, records, len(units), terms.noise))
        for _, cells, records in blocks_of(some, units)
    ]
    cells, words = zip(*parts, strict=True)
    return np.concatenate(cells), np.concatenate(words)


def _label_column(kept: Kept, labels: NDArray[np.str_], label: str, prints: Words) -> tuple[Kept, str | None]:
    """Return the kept values with the name and marks of a label column, and this name if the column is a new one.

    TableError if it is a settled one whose labels are written otherwise.
    """
    mark_key, name = kept.derive(tags.RECORD_MARK, "labels"), plain(label)

    def marked(records: Words) -> dict[str, str]:
        rows = np.flatnonzero(np.isin(prints, records))
        texts = hex_marks(marks_of(mark_key, bits_of_texts(labels[rows])[:, None]))
        pairs = dict.fromkeys(zip(to_hex(prints[rows]), texts, strict=True))
        # Without ids, equal records may have different labels: one of them that leaves changes none.
        times = Counter(record for record, _ in pairs)
        return {record: text for record, text in pairs if times[record] == 1}

    # A name that is known has its own marks: of two outcomes that are nearly the same each is compared with itself.
    settled = name
    known = kept.marks.labels if name not in kept.marks.labels else {name: kept.marks.labels[name]}
    for other, before in known.items():
        now = marked(from_hex([*before]))
        same = not labels_moved(before, now) if other == name else same_labels(before, now)
        if same is None or (other == name and not same):
            raise TableError(
                CHANGED,
                f"Too many labels of column '{label}' have changed. Write them as before; leave records out until "
                "their outcome is known; put row ids that have moved back."
                if same is False
                else f"The labels of column '{label}' follow from those of '{other}' and would get a second copy. "
                "Write them as before.",
            )
        if same:
            settled = kept.names[other]
            break
    # Of the records that are there now: those of the first use may all have gone by the next.
    marks = {**kept.marks.labels, name: marked(prints[label_rows(prints, labels)])}
    new = None if settled in kept.labels else settled
    return replace(kept, names={**kept.names, name: settled}, marks=replace(kept.marks, labels=marks)), new


def _reading_text(table: Table, schema: TableSchema | None) -> str:
    """Return the table's readings and the schema file's other keys of reading, as text: a coordinator may have sent it.

    With one that takes rows for remarks that begin with a digit, those that do would be missing. Another separator
    makes other columns.
    """
    others = [(key, text) for key, text in (schema.reading if schema else ()) if key not in IN_READINGS]
    return json.dumps([sorted(table.readings.items()), sorted(others)])


def _check_ids(table: Table, first: bool) -> None:
    """Check that ids, if there are any, differ, and at first use that they can last; else TableError."""
    if table.ids is None:
        return
    ids = table.ids.tolist()
    if len(set(ids)) < len(ids):
        raise TableError(
            "Two rows have the same id and would get the same noise. Give each an id of its own."
        )
    numbers = [int(digits) for digits in (text.removesuffix(".0") for text in ids) if digits.isdecimal()]
    if first and len(ids) > 1 and len(numbers) == len(ids) and max(numbers) - min(numbers) == len(ids) - 1:
        raise TableError(
            "The row ids are whole numbers without a gap, as row numbers are. With a row more or less each record "
            "would have another one's noise, and both copies together would tell it. Name a column of ids that stay "
            "with the patient, such as a case number, as row-id. If these do, write a letter before each, as in P17."
        )


def plain(label: str) -> str:
    """Return one name for all spellings of a label column, which differ in blanks or in upper and lower case."""
    return plain_name(label).casefold()
