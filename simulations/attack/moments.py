"""Records from moments: where two sums of exact moments differ by one record, the difference is that record.

Sums over records come with the number of records. A difference of sums over n and n + 1 records is a record only if
the n records are the same; then the difference of the sums of squares is its square, by which the attacker recognises
records. Months of a growing table and steps of an elimination give such pairs.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.scaling import Scaling
from flower_pansvm.systems.scaling import MOMENTS
from flower_pansvm.systems.selection import CLASS_MOMENTS, SUPPORT
from simulations.attack.knowledge import SumsOfRows, map_of, scaling_of
from strategies.federation.transcript import TranscriptSum

SAME = 1e-7
"""Rounding of the sums: largest error of a record's square, as a share of the sums of squares."""


def records_in_moments(record: Sequence[TranscriptSum]) -> Floats:
    """Return the records that equal differences of moments, shape (records, columns); unknown columns are NaN.

    ``record`` is that of one run, or of several with the same columns.
    """
    sums = list(moments_of(record))
    records = [np.empty((0, len(sums[0].features)))] if sums else [np.empty((0, 0))]
    for features in np.unique([moment.features for moment in sums], axis=0) if sums else ():
        of_these = [moment.of(features) for moment in sums if not (features & ~moment.features).any()]
        count, total, square = (
            np.vstack([getattr(moment, name) for moment in of_these]) for name in ("count", "total", "square")
        )
        rows = _single_records(count, total, square)
        wide = np.full((len(rows), len(features)), np.nan)
        wide[:, features] = rows
        records.append(wide)
    return np.vstack(records)


def moments_of(record: Sequence[TranscriptSum]) -> Iterator[SumsOfRows]:
    """Yield all sums over records: by fold and over all, by class, and over support vectors."""
    for entry in record:
        if entry.task in (MOMENTS.name, CLASS_MOMENTS.name):
            sums = [entry.sums[name] for name in ("count", "total", "square")]
            features = np.ones(sums[0].shape[1], dtype=np.bool_)
            if entry.task == MOMENTS.name:
                yield SumsOfRows(features, *(np.vstack([by_fold, by_fold.sum(axis=0)]) for by_fold in sums))
            else:
                yield _unscaled(features, scaling_of(entry), *sums)
        elif entry.task == SUPPORT.name:
            answer = entry.answer(SUPPORT)
            for index, problem in enumerate(entry.question(SUPPORT).problems()):
                known_map = map_of(entry, problem.feature_map)
                total, square = answer.total[index], answer.square[index]
                count = np.repeat(answer.count[index][:, None], total.shape[1], axis=1)
                scaling = known_map.scaling.of(known_map.features)
                yield _unscaled(known_map.features, scaling, count, total, square)


def _single_records(count: Floats, total: Floats, square: Floats) -> Floats:
    """Return the differences of two sums that are one record; a missing cell is the mean, with which sites fill it."""
    records, largest = [], int(count.sum(axis=1).argmax())
    mean = total[largest] / np.maximum(count[largest], 1.0)
    for index, square_sum in enumerate(square):
        more = count[index] - count
        x, squares, off = total[index] - total, square_sum - square, SAME * (1.0 + square_sum)
        is_cell = (more == 1) & (np.abs(squares - np.square(x)) <= off)
        is_nothing = (more == 0) & (np.abs(squares) <= off) & (np.square(x) <= off)
        chosen = (is_cell | is_nothing).all(axis=1) & is_cell.any(axis=1)
        records.append(np.where(is_cell, x, mean)[chosen])
    return np.unique(np.vstack(records).round(12), axis=0)


def _unscaled(features: Bools, scaling: Scaling, count: Floats, total: Floats, square: Floats) -> SumsOfRows:
    """Return sums of scaled cells in the table's units."""
    shift, scale = scaling.shift, scaling.scale
    squares = np.square(scale) * square + 2 * scale * shift * total + count * np.square(shift)
    return SumsOfRows(features, count, scale * total + count * shift, squares)
