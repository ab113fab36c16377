"""Records from moments: where two sums of exact moments differ by one record, the difference is that record.

Sums over the records themselves tell how many records they are over. The difference of two that are over n and n + 1
records is a record only if all n are the same; then the difference of the sums of squares is its square. So the
attacker sees which differences are records. Months of a growing table and steps of an elimination give such pairs.
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
"""By which share of the sums of squares the square of a record may be off, for the rounding of the sums."""


def records_in_moments(record: Sequence[TranscriptSum]) -> Floats:
    """Return the records that differences of moments are, shape (records, columns); columns not known are NaN.

    The record is of one run, or of several of the same columns.
    """
    sums = list(moments_of(record))
    found = [np.empty((0, len(sums[0].features)))] if sums else [np.empty((0, 0))]
    for features in np.unique([one.features for one in sums], axis=0) if sums else ():
        of_these = [one.of(features) for one in sums if not (features & ~one.features).any()]
        count, total, square = (
            np.vstack([getattr(one, part) for one in of_these]) for part in ("count", "total", "square")
        )
        rows = _single_records(count, total, square)
        wide = np.full((len(rows), len(features)), np.nan)
        wide[:, features] = rows
        found.append(wide)
    return np.vstack(found)


def moments_of(record: Sequence[TranscriptSum]) -> Iterator[SumsOfRows]:
    """Yield all sums over records themselves: by fold and over all, by class, and over support vectors."""
    for one in record:
        if one.task == MOMENTS.name:
            parts = (one.sums["count"], one.sums["total"], one.sums["square"])
            yield SumsOfRows(_all(parts[0]), *(np.vstack([part, part.sum(axis=0)]) for part in parts))
        elif one.task == CLASS_MOMENTS.name:
            parts = (one.sums["count"], one.sums["total"], one.sums["square"])
            yield _unscaled(_all(parts[0]), scaling_of(one), *parts)
        elif one.task == SUPPORT.name:
            answer = one.answer(SUPPORT)
            for number, problem in enumerate(one.question(SUPPORT).problems()):
                known = map_of(one, problem.feature_map)
                total, square = answer.total[number], answer.square[number]
                count = np.repeat(answer.count[number][:, None], total.shape[1], axis=1)
                yield _unscaled(known.features, known.scaling.of(known.features), count, total, square)


def _single_records(count: Floats, total: Floats, square: Floats) -> Floats:
    """Return the differences of two sums that are one record; a missing cell is the mean, as sites fill it."""
    found, largest = [], int(count.sum(axis=1).argmax())
    mean = total[largest] / np.maximum(count[largest], 1.0)
    for number, square_sum in enumerate(square):
        more = count[number] - count
        x, squares, off = total[number] - total, square_sum - square, SAME * (1.0 + square_sum)
        is_cell = (more == 1) & (np.abs(squares - np.square(x)) <= off)
        is_nothing = (more == 0) & (np.abs(squares) <= off) & (np.square(x) <= off)
        chosen = (is_cell | is_nothing).all(axis=1) & is_cell.any(axis=1)
        found.append(np.where(is_cell, x, mean)[chosen])
    return np.unique(np.vstack(found).round(12), axis=0)


def _unscaled(features: Bools, scaling: Scaling, count: Floats, total: Floats, square: Floats) -> SumsOfRows:
    """Return sums of scaled cells in the table's units."""
    shift, scale = scaling.shift, scaling.scale
    squares = np.square(scale) * square + 2 * scale * shift * total + count * np.square(shift)
    return SumsOfRows(features, count, scale * total + count * shift, squares)


def _all(part: Floats) -> Bools:
    return np.ones(part.shape[1], dtype=np.bool_)
