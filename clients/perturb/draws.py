"""How a cell is perturbed: what is drawn for it follows from the key, its record, its column and the cell itself."""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray
from scipy.special import ndtri

from clients.perturb.kept import GROUP_OF, NORMAL_QUANTILES, SHARES, KeptColumn, normal_of
from clients.perturb.marks import Words
from clients.table.table import Table
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.table_schema import CATEGORY, YES_NO, TableColumn, TableSchema
from flower_pansvm.terms import MIN_CLUSTER, NOISES, replaced_share

GRID_BITS = 20  # by which the copy's grid is finer than a deviation
BLOCK = 2**20  # cells that are perturbed at a time
LOW_BITS = np.uint64(2**32 - 1)

Block = tuple[slice, Floats, list[bytes]]  # some rows, their cells as units, and what tells each record apart


@dataclass(frozen=True)
class Unit:
    """A column of the table, or one category."""

    name: str
    places: list[int]  # where its features are
    known: TableColumn | None  # what the schema file says of it

    @property
    def codes(self) -> int:
        """How many codes it has by the schema file; 0 if that does not say."""
        if len(self.places) > 1:
            return len(self.places)
        return 2 if self.known is not None and self.known.kind == YES_NO else 0

    @property
    def ends(self) -> tuple[float, float] | None:
        """Its public range."""
        return self.known.ends if self.known else None


@dataclass(frozen=True)
class PerturbedTerms:
    """How a copy is made: its noise σ, and how many records share what stays as it is."""

    noise: float
    min_cluster: int = MIN_CLUSTER
    # Labels that all sites have agreed on. They are public: a site keeps them however few records have them, as a class
    # that is rare at each of many small sites would else be trained away. What protects a record's label is that it may
    # be drawn anew.
    classes: tuple[str, ...] = ()
    repeats: bool = False  # whether rows may be there twice, as a researcher's own


def words_of(secret: bytes, records: Sequence[bytes], columns: int, noise: float) -> Words:
    """Return a random word for each cell and step, shape (rows, steps, columns), of which its draws are made."""
    shape = len(steps_of(noise)), columns
    stream = b"".join(hashlib.shake_256(secret + record).digest(8 * math.prod(shape)) for record in records)
    return np.frombuffer(stream, dtype="<u8").reshape(len(records), *shape)


def perturbed(
    cells: Floats, bits: Words, columns: Sequence[KeptColumn], secret: bytes, words: Words, noise: float
) -> Floats:
    """Return cells, shape (rows, columns), perturbed; NaN is a missing one."""
    cipher, copy = cipher_of(secret), np.empty(cells.shape)
    for index, column in enumerate(columns):
        codes, x = drawn(cells[:, index], bits[:, index], column, cipher, words[..., index], noise)
        written = np.array([*column.values, np.nan, np.nan], dtype=np.float64)[codes]
        copy[:, index] = np.where(codes == len(column.values) + 1, x.clip(column.low, column.high), written)
    return copy


def drawn(
    cells: Floats, bits: Words, column: KeptColumn, cipher: Cipher[Any], words: Words, noise: float
) -> tuple[Ints, Floats]:
    """Return the codes of a column's copy, shape (rows,), and its measurements before the ends are pulled in."""
    x, listed = cells, column.listed
    missing, measured = len(column.values), len(column.values) + 1
    codes, group = code_places(cells, column), GROUP_OF[words[:, 0] & np.uint64(7)]
    # A code of too few records is missing; where missing cells are as rare, it is drawn anew.
    if column.missing and not listed.all():
        codes[~listed[codes]] = missing
    draws = np.empty((words.shape[1], len(cells), 2), "<u8")
    draws[..., 0], draws[..., 1] = words.T, bits
    draws = np.frombuffer(cipher.encryptor().update(draws.tobytes()), "<u8").reshape(draws.shape)
    shares = np.array(column.shares)
    ends = np.cumsum(shares, axis=1) + SHARES * np.arange(len(shares))[:, None]
    grid = 2.0 ** (math.frexp(column.deviation)[1] - GRID_BITS)
    for (below, above), (choice, normal) in zip(steps_of(noise), draws.transpose(0, 2, 1), strict=True):
        share = 1 - (1 - replaced_share(above)) / (1 - replaced_share(below))
        # The high bits tell whether a code is drawn anew, the low bits which one it becomes.
        is_anew = (choice >> np.uint64(32)) < np.uint64(share * 2.0**32)
        anew = np.flatnonzero(is_anew if listed.all() else is_anew | ~listed[codes])
        rank = ((choice[anew] & LOW_BITS) * np.uint64(SHARES) >> np.uint64(32)).astype(np.int64)
        rank += SHARES * group[anew]
        drawn = np.searchsorted(ends.ravel(), rank, side="right") - ends.shape[1] * group[anew]
        if column.measured:
            z = column.deviation * normal_of(normal)
            x = x + math.sqrt(above**2 - below**2) * z
            # A measurement where there was none is made up: it looks like one of the column's.
            new = (drawn == measured) & (codes[anew] != measured)
            rows, of = anew[new], group[anew[new]]
            u = (rank[new] - ends[of, missing] + 0.5) / shares[of, measured]
            knots, quantiles = NORMAL_QUANTILES, np.array(column.quantiles)
            position = (ndtri(u).clip(knots[0], knots[-1]) - knots[0]) / (knots[1] - knots[0])
            left = np.minimum(position.astype(np.int64), len(knots) - 2)
            lower, upper = quantiles[of, left], quantiles[of, left + 1]
            x[rows] = lower + (position - left) * (upper - lower) + above * z[rows]
            x = np.round(x / grid) * grid
        codes[anew] = drawn
    return codes, x


def steps_of(noise: float) -> list[tuple[float, float]]:
    """Return the steps in which noise is added."""
    return list(pairwise((0.0, *(sigma for sigma in NOISES if sigma <= noise))))


def code_places(cells: Floats, column: KeptColumn) -> Ints:
    """Return the place of each cell among a column's codes, missing cells and measurements."""
    values = np.array([*column.values, np.inf])
    places = np.searchsorted(values, cells).clip(max=len(values) - 1)
    missing = len(values) - 1
    return np.where(np.isnan(cells), missing, np.where(values[places] == cells, places, missing + 1))


def cipher_of(secret: bytes) -> Cipher[Any]:
    """Return the cipher that makes draws of words and cells."""
    return Cipher(algorithms.AES256(hashlib.sha256(secret).digest()), modes.ECB())


def blocks_of(table: Table, units: Sequence[Unit]) -> Iterator[Block]:
    """Return the rows of a table, a block at a time."""
    X, step = table.X, max(1, BLOCK // len(units))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        cells = canonical(np.column_stack([unit_cells(X[rows], unit) for unit in units]))
        told_by = cells if table.ids is None else table.ids[rows]
        yield rows, cells, [str(r).encode() if table.ids is not None else r.tobytes() for r in told_by]


def units_of(table: Table, schema: TableSchema | None) -> list[Unit]:
    """Return the columns, by name, with all features of a category together."""
    places = {name: index for index, name in enumerate(table.columns)}
    known = {column.name: column for column in (schema.columns if schema else ())}
    # A site that holds other columns than all may have a part of a category's features.
    categories = [c for c in known.values() if c.kind == CATEGORY and places.keys() >= set(c.features)]
    units = [Unit(c.name, [places.pop(feature) for feature in c.features], c) for c in categories]
    rest = [Unit(name, [index], known.get(name)) for name, index in places.items()]
    return sorted([*units, *rest], key=lambda unit: (unit.name, unit.places))


def unit_cells(X: Floats, unit: Unit) -> Floats:
    """Return the cells of a unit, shape (rows,): of a category the place of the feature that is 1."""
    if len(unit.places) == 1:
        return X[:, unit.places[0]]
    group = X[:, unit.places]
    return np.where(np.isnan(group).any(axis=1), np.nan, group.argmax(axis=1))


def canonical(cells: Floats) -> Floats:
    """Return cells in single precision, with one way to write a zero, and one for a missing cell.

    So a cell is the same in text, in Excel (15 digits) and in columns of either precision.
    """
    return np.where(np.isnan(cells), np.nan, cells + 0.0).astype("<f4").astype("<f8")


def bits_of_cells(cells: Floats, units: Sequence[Unit]) -> Words:
    """Return 64 bits of each cell, shape (rows, columns): of a number itself, of a category its name's."""
    bits = cells.view("<u8").copy()
    for index, unit in enumerate(units):
        if len(unit.places) > 1 and unit.known is not None:
            names = bits_of_texts(np.array([*unit.known.categories, ""]))
            bits[:, index] = names[np.nan_to_num(cells[:, index], nan=len(names) - 1).astype(np.int64)]
    return bits


def bits_of_texts(texts: NDArray[np.str_]) -> Words:
    """Return 64 bits of each text, shape (rows,)."""
    names, inverse = np.unique(texts, return_inverse=True)
    digests = b"".join(hashlib.sha256(text.encode()).digest()[:8] for text in names.tolist())
    return np.frombuffer(digests, "<u8")[inverse]


def label_codes(labels: NDArray[np.str_], column: KeptColumn) -> Floats:
    """Return the index of each label among the settled ones, shape (rows, 1); NaN is another label."""
    names = np.array(column.values, dtype=np.str_)
    places = np.searchsorted(names, labels).clip(max=len(names) - 1)
    return np.where(names[places] == labels, places, np.nan)[:, None]


def bits_of_labels(labels: NDArray[np.str_], numbers: Words) -> Words:
    """Return 64 bits of each label, shape (rows, 1), of records that have a number each; equal ones the same.

    Where records are equal but for the label, one draw for all would be seen, and tell the labels that stay.
    """
    nth = pd.Series(labels).groupby([numbers, labels]).cumcount().to_numpy(dtype=np.uint64)
    bits: Words = np.add(bits_of_texts(labels), nth, dtype=np.uint64)[:, None]
    return bits


def features_of(copy: Floats, units: Sequence[Unit]) -> Floats:
    """Return the units of a copy as features, shape (rows, features)."""
    X = np.empty((len(copy), sum(len(unit.places) for unit in units)))
    for cells, unit in zip(copy.T, units, strict=True):
        places, column = unit.places, cells[:, None]
        if len(places) > 1:
            column = np.where(np.isnan(column), np.nan, column == np.arange(len(places)))
        X[:, places] = column
    return X
