"""The copy of a table that all systems see at level `perturbed`: each cell was perturbed once, with a lasting key.

A measurement x becomes x + σ s N(0, 1), s the column's deviation at the site (Agrawal & Srikant 2000). A code (a
category, one of few numbers, a label, whether a cell is missing) is drawn anew, with probability r(σ), from the
site's own frequencies (Warner 1965). The copy is a function of the record and the key: the same in each run, for each
system and coordinator, after a restart, in another order of rows or columns, and beside new rows.

- Deviations, frequencies and ends of columns are settled at first use: one draw with two deviations would be two
  equations for x. For the same reason the draws depend on what is settled.
- The copy with more noise is made of the one with less: both together tell no more than the one with less.
- A corrected cell of a record with an id changes itself alone: a measurement by just as much as it was corrected. A
  code has other draws than the one it was, or the change would tell both; so do labels of equal records without ids.
  These have otherwise equal copies: without ids a record is known by all its features, and a corrected one gets a
  second copy, which an attacker averages with the first.
- The bits of a float can tell x (Mironov 2012). So the copy is rounded to a multiple of a power of 2, about 2^-20
  deviations. Its distribution over them differs by less than 2^-28 from a rounded normal one, whatever x is. Were it a
  multiple of a share of the deviation, copies would tell exact deviation and mean: all but one record's, that one.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray
from scipy.special import ndtri

from clients.hospital import Hospital
from clients.ledger.lasting_split import key_of
from clients.ledger.ledger import Ledger, linked_ledger
from clients.perturb_kept import MARKS, Kept, KeptColumn, settle, settled_column
from clients.table.source import cache_folder, label_column, schema_of
from clients.table.table import Table
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.labels import spelling
from flower_pansvm.secure_sum.wire import join_fields
from flower_pansvm.table_schema import CATEGORY, TableSchema
from flower_pansvm.terms import MIN_CLUSTER, NOISES, replaced_share

GRID_BITS = 20  # by which the copy's grid is finer than a deviation
BLOCK = 2**20  # cells that are perturbed at a time
LARGE_COPY = 1_000_000  # cells above which the copy is kept; fewer are perturbed in half a second
LOW_BITS = np.uint64(2**32 - 1)

Words = NDArray[np.uint64]
Unit = tuple[str, list[int]]  # a column of the table, or one category: its name, and where its features are
Block = tuple[slice, Floats, list[bytes]]  # some rows, their cells as units, and what tells each record apart


@dataclass(frozen=True)
class PerturbedTerms:
    """How a copy is made: its noise σ, and how many records share what stays as it is."""

    noise: float
    min_cluster: int = MIN_CLUSTER


def copy_of(hospital: Hospital, table: Table) -> Table:
    """Return the copy of a hospital's true table, with the run's noise; a large one is kept for its next messages."""
    terms = PerturbedTerms(hospital.terms.noise, hospital.policy.min_cluster)
    label, version = label_column(hospital), str(hospital.remembered("table"))

    def keep(settled: str, make: Callable[[], Table]) -> Table:
        folder = None if hospital.simulated else cache_folder(hospital)
        if folder is None or table.X.size < LARGE_COPY:
            return make()
        from clients.table.disk_cache import perturbed_through_cache  # noqa: PLC0415 - most tables are small

        about = [version, label, str(terms.noise), settled]
        return perturbed_through_cache(Path(hospital.policy.data), about, folder, make)

    return perturbed_table(table, label, schema_of(hospital), terms, key_of(hospital), keep)


def perturbed_table(
    table: Table,
    label: str,
    schema: TableSchema | None,
    how: PerturbedTerms,
    key: Path | bytes,
    keep: Callable[[str, Callable[[], Table]], Table] = lambda _, make: make(),
) -> Table:
    """Return the copy of a table.

    Parameters
    ----------
    table : Table
        The true records; their ids, if it has any, tell them apart.
    label : str
        Name of the label column, which the hospital chooses and not the coordinator: another one is a second set of
        codes beside the same features.
    schema : TableSchema or None
        Which columns of 0 and 1 are one category, and what is missing.
    how : PerturbedTerms
        What is settled already stays, whatever its min-cluster says now.
    key : Path or bytes
        The hospital's folder, which leads to key and deviations; of a simulated site the key itself.
    keep : callable
        Returns the copy, which it may have kept, by a digest of key and settled columns and a function that makes it.

    Raises
    ------
    SettingError
        If the noise is not one of `NOISES`.
    BudgetError
        If the table's ledger is missing or damaged.
    TableError
        If ids repeat, no label has enough records, or the table is not the one whose copy was begun.
    """
    if how.noise not in NOISES:
        raise SettingError(f"The noise of level perturbed has to be one of {', '.join(map(str, NOISES))}.")
    if table.ids is not None and len(set(table.ids.tolist())) < len(table.ids):
        raise TableError(
            "Two rows have the same id and would get the same noise. Give each an id of its own."
        )
    units, written = _units(table, schema), {}
    if table.labels is not None:
        # Another schema file may spell classes otherwise: then labels of these, and no others, were drawn once more.
        names, inverse = np.unique(table.labels, return_inverse=True)
        spelt = np.array([*map(spelling, names)])
        written = dict(zip(spelt.tolist(), names.tolist(), strict=True))
        table = replace(table, labels=spelt[inverse])

    def settled(kept: Kept) -> Kept:
        if isinstance(key, Path) and not kept.columns:
            _check_tells_apart(linked_ledger(key), table)
        return _settled(kept, table, units, label, how, schema)

    kept = settled(Kept(key.hex())) if isinstance(key, bytes) else settle(key, settled)

    def copy() -> Table:
        X, labels = np.empty(table.X.shape), table.labels
        secret, of_label = kept.secret(), kept.secret(label) if labels is not None else b""
        words = []
        for rows, cells, records in _blocks(table, units):
            own = _words(secret, records, len(units), how.noise)
            X[rows] = _features(_perturbed(cells, kept.features, secret, own, 0, how.noise), units)
            if labels is not None:
                words.append(_words(of_label, records, 1, how.noise))
        if labels is not None:
            labels = _perturbed_labels(labels, kept.labels[label], of_label, np.concatenate(words), how.noise)
            names, inverse = np.unique(labels, return_inverse=True)
            labels = np.array([written.get(text, text) for text in names.tolist()])[inverse]
        return replace(table, X=X, labels=labels)

    return keep(kept.digest, copy)


def _steps(noise: float) -> list[tuple[float, float]]:
    """Return the steps in which noise is added."""
    return list(pairwise((0.0, *(sigma for sigma in NOISES if sigma <= noise))))


def _words(secret: bytes, records: Sequence[bytes], columns: int, noise: float) -> Words:
    """Return a random word for each cell and step, shape (rows, steps, columns), of which its draws are made."""
    shape = len(_steps(noise)), columns
    stream = b"".join(hashlib.shake_256(secret + record).digest(8 * math.prod(shape)) for record in records)
    return np.frombuffer(stream, dtype="<u8").reshape(len(records), *shape)


def _perturbed(
    cells: Floats, columns: Sequence[KeptColumn], secret: bytes, words: Words, nth: Ints | int, noise: float
) -> Floats:
    """Return cells, shape (rows, columns), perturbed; NaN is a missing one.

    The draws of a cell depend on its words, on which code it is, and on ``nth``, shape (rows,).
    """
    cipher = Cipher(algorithms.AES256(hashlib.sha256(secret).digest()), modes.ECB())
    copy = np.empty(cells.shape)
    for place, column in enumerate(columns):
        x = np.clip(cells[:, place], column.low, column.high)
        grid = 2.0 ** (math.frexp(column.deviation)[1] - GRID_BITS)
        codes, counts = _codes(cells[:, place], column), np.array(column.counts)
        missing, measured = len(counts) - 2, len(counts) - 1
        # A code of too few records is missing; where missing cells are as rare, it is drawn anew.
        if counts[missing]:
            codes[counts[codes] == 0] = missing
        draws = np.empty((words.shape[1], len(cells), 2), "<u8")
        draws[..., 0], draws[..., 1] = words[..., place].T, codes * 2**32 + nth
        draws = np.frombuffer(cipher.encryptor().update(draws.tobytes()), "<u8").reshape(draws.shape)
        for (below, above), (choice, normal) in zip(_steps(noise), draws.transpose(0, 2, 1), strict=True):
            share = 1 - (1 - replaced_share(above)) / (1 - replaced_share(below))
            # The high bits tell whether a code is drawn anew, the low bits which one it becomes.
            anew = ((choice >> np.uint64(32)) < share * 2.0**32) | (counts[codes] == 0)
            rank = ((choice & LOW_BITS) * np.uint64(counts.sum())) >> np.uint64(32)
            drawn = np.where(anew, np.searchsorted(np.cumsum(counts), rank, side="right"), codes)
            z = column.deviation * ndtri(((normal >> np.uint64(12)) + 0.5) * 2.0**-52)
            # A measurement where there was none is made up: it looks like one of the column.
            made_up = (drawn == measured) & (codes != measured)
            like_one = column.mean + math.sqrt(1 + above**2) * z
            x = np.where(made_up, like_one, x + math.sqrt(above**2 - below**2) * z)
            x, codes = np.round(x / grid) * grid, drawn
        written = np.array([*column.values, np.nan, np.nan], dtype=np.float64)[codes]
        copy[:, place] = np.where(codes == measured, x, written)
    return copy


def _perturbed_labels(
    labels: NDArray[np.str_], column: KeptColumn, secret: bytes, words: Words, noise: float
) -> NDArray[np.str_]:
    """Return labels, shape (rows,), perturbed as a column of codes; one of too few records is drawn anew."""
    names = np.array(column.values, dtype=np.str_)
    places = np.searchsorted(names, labels).clip(max=len(names) - 1)
    cells = np.where(names[places] == labels, places, np.nan)[:, None]
    # Where records are equal but for the label, one draw for all would be seen, and tell the labels that stay.
    nth = np.asarray(pd.Series(labels).groupby([words[:, 0, 0], labels]).cumcount(), dtype=np.int64)
    as_numbers = replace(column, values=range(len(names)))
    return names[_perturbed(cells, [as_numbers], secret, words, nth, noise)[:, 0].astype(np.int64)]


def _settled(
    kept: Kept,
    table: Table,
    units: Sequence[Unit],
    label: str,
    how: PerturbedTerms,
    schema: TableSchema | None,
) -> Kept:
    """Return what is kept, with what has to be settled at first use; TableError if the table is another one."""
    fields = [name for unit, places in units for name in (unit, *(table.columns[place] for place in places))]
    fields.append(_said_of_reading(table, schema))
    columns = hashlib.sha256(join_fields(*map(str.encode, fields))).hexdigest()
    records = (record for _, _, block in _blocks(table, units) for record in block)
    if kept.columns:
        kept.check(columns, records)
    else:
        X, least = table.X, how.min_cluster
        features = [settled_column(_cells(X, places), len(places) > 1, least) for _, places in units]
        marks = [kept.mark(record) for record in islice(records, MARKS)]
        kept = replace(kept, columns=columns, features=features, marks=marks)
    if table.labels is not None and label not in kept.labels:
        names, counts = np.unique(table.labels, return_counts=True)
        enough = counts >= how.min_cluster
        if not enough.any():
            raise TableError(
                f"No label has {how.min_cluster} records, the site's min-cluster: too few for a copy that tells "
                "nothing of one record. Is it the right label column, and has the table all its rows? Name another "
                "column, or take part with a table of more records of each label."
            )
        column = KeptColumn(names[enough].tolist(), [*counts[enough].tolist(), 0, 0])
        kept = replace(kept, labels={**kept.labels, label: column})
    return kept


def _said_of_reading(table: Table, schema: TableSchema | None) -> str:
    """Return how cells are read, and what else a schema file says of reading, which a coordinator may have sent.

    With one that takes rows for remarks that begin with a digit, those that do would be missing.
    """
    return json.dumps([sorted(table.readings.items()), sorted(schema.reading) if schema else []])


def _check_tells_apart(ledger: Ledger, table: Table) -> None:
    """Check that sides and order of records follow from all by which the copy tells them apart; else TableError.

    After a run with one column of codes all records of a code are on one side, for good, and next to each other.
    """
    if not (ledger.by_ids or (table.ids is None and set(ledger.columns) == set(table.columns))):
        raise TableError(
            "The table was first used with fewer columns, or without row ids, and records that were alike then are on "
            "one side of the split: beside copies of all columns this would tell true cells. Start the run with "
            "strategy=dp-svm, or with columns and ids as in the first run."
        )


def _blocks(table: Table, units: Sequence[Unit]) -> Iterator[Block]:
    """Return the rows of a table, a block at a time."""
    X, step = table.X, max(1, BLOCK // len(units))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        cells = np.column_stack([_cells(X[rows], places) for _, places in units])
        # One way to write a zero, and one for a missing cell.
        cells = np.where(np.isnan(cells), np.nan, cells + 0.0).astype("<f8")
        told_by = cells if table.ids is None else table.ids[rows]
        yield rows, cells, [str(one).encode() if table.ids is not None else one.tobytes() for one in told_by]


def _units(table: Table, schema: TableSchema | None) -> list[Unit]:
    """Return the columns, by name, with all features of a category together."""
    places = {name: place for place, name in enumerate(table.columns)}
    known = schema.columns if schema else ()
    # A site that holds other columns than all may have a part of a category's features.
    categories = [one for one in known if one.kind == CATEGORY and places.keys() >= set(one.features)]
    units = [(one.name, [places.pop(feature) for feature in one.features]) for one in categories]
    return sorted([*units, *((name, [place]) for name, place in places.items())])


def _cells(X: Floats, places: Sequence[int]) -> Floats:
    """Return the cells of a unit, shape (rows,): of a category the place of the feature that is 1."""
    if len(places) == 1:
        return X[:, places[0]]
    group = X[:, places]
    return np.where(np.isnan(group).any(axis=1), np.nan, group.argmax(axis=1))


def _codes(cells: Floats, column: KeptColumn) -> Ints:
    """Return the place of each cell in the counts of a column."""
    values = np.array([*column.values, np.inf])
    places = np.searchsorted(values, cells).clip(max=len(values) - 1)
    missing = len(values) - 1
    return np.where(np.isnan(cells), missing, np.where(values[places] == cells, places, missing + 1))


def _features(copy: Floats, units: Sequence[Unit]) -> Floats:
    """Return the units of a copy as features, shape (rows, features)."""
    X = np.empty((len(copy), sum(len(places) for _, places in units)))
    for cells, (_, places) in zip(copy.T, units, strict=True):
        one_hot = np.where(np.isnan(cells)[:, None], np.nan, cells[:, None] == np.arange(len(places)))
        X[:, places] = one_hot if len(places) > 1 else cells[:, None]
    return X
