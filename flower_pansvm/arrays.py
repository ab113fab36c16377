"""Short names of the arrays that this project computes with, and blocks of rows."""

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
