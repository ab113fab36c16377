"""Short names of the arrays that this project computes with, blocks of rows, and numbers of half the bytes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BLOCK = 4096  # rows that are mapped at a time: the map of all rows of a large site would not fit into memory


def in_single_precision(numbers: Floats) -> Floats:
    """Return the nearest numbers that single precision can hold, the largest for those beyond it.

    A site may as well be asked at a point next to another one, as long as both sides take the very same numbers.
    """
    largest = np.finfo(np.float32).max
    return np.clip(numbers, -largest, largest).astype(np.float32).astype(np.float64)


def blocks(rows: int) -> Iterator[slice]:
    """Return the slices of at most `BLOCK` rows that make up all rows."""
    return (slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK))
