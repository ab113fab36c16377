"""What bounds a row's part in a sum: clipped to norm 1, in steps so coarse that sums are exact."""

import numpy as np

from flower_pansvm.arrays import Floats

STEP = 2.0**-14
"""Rows and slopes are multiples of it, their products of its square: sums of up to 2^25 of these are exact in double
precision in whatever order, so that no low bit of a sum tells how it was made."""

UNIT = STEP**-2
"""What 1 is in the units of such sums."""

JUST_BELOW = 1 - 2.0**-20
"""Rounding while clipping does not lift a norm above 1."""


def clipped(rows: Floats) -> Floats:
    """Return rows of 2-norm at most 1, shape (rows, numbers), each number cut off to a multiple of `STEP`.

    What is no number becomes 0: nobody gains by a question that makes some.
    """
    sound = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
    # Largest first: squares of huge numbers would be infinite.
    sound = sound / np.maximum(np.abs(sound).max(axis=1, initial=1.0, keepdims=True), 1.0)
    norm = np.linalg.norm(sound, axis=1, keepdims=True)
    shrunk = sound * (JUST_BELOW / np.maximum(norm, JUST_BELOW))
    cut: Floats = np.trunc(shrunk / STEP) * STEP
    return cut
