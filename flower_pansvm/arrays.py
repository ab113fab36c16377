"""Short names of the arrays that this project computes with, and numbers that travel in half of the bytes."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def in_single_precision(numbers: Floats) -> Floats:
    """Return the nearest numbers that single precision can hold, the largest for those beyond it.

    A site may as well be asked at a point next to another one, as long as both sides take the very same numbers.
    """
    largest = np.finfo(np.float32).max
    return np.clip(numbers, -largest, largest).astype(np.float32).astype(np.float64)
