"""Short names of the arrays that this project computes with, blocks of rows, and whole numbers modulo 2^64."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BLOCK = 4096  # rows that are mapped at a time: the map of all rows of a large site would not fit into memory


def blocks(rows: int, most: int = BLOCK) -> Iterator[slice]:
    """Return the slices of at most so many rows that make up all rows."""
    return (slice(start, min(start + most, rows)) for start in range(0, rows, most))


def modular(whole: Floats) -> Ints:
    """Return whole numbers modulo 2^64, from -2^63 to below 2^63; 0 for one that is not finite."""
    if not np.abs(whole).max(initial=0.0) < 2.0**63:
        whole = np.fmod(np.where(np.isfinite(whole), whole, 0.0), 2.0**64)
        whole = whole - 2.0**64 * ((whole >= 2.0**63) * 1.0 - (whole < -(2.0**63)))
    return whole.astype(np.int64)
