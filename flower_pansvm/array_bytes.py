"""Arrays of numbers as bytes, and back with nothing believed.

The bytes are the numbers alone, in C order and little-endian. Flower by itself would write files of numpy's, whose 128
bytes of header are more than most of the numbers, and have to be parsed.
"""

import math

import numpy as np
from flwr.app import Array
from numpy.typing import NDArray

FORMAT = "little-endian"  # what Flower is told of the bytes
MOST_SIDES = 8
MOST_EMPTY_SIDE = 2**20  # of an array without any items: its bytes say nothing of how long a side may be
NUMBERS = ("float64", "float32", "int64", "uint8", "bool")


class UnreadableArrayError(Exception):
    """An array cannot be what it says it is; the text says why, and follows the words "an array that"."""


def write_array(values: NDArray[np.generic]) -> Array:
    """Return numbers as an array that can travel; TypeError if they are of none of the types of `NUMBERS`."""
    if values.dtype.name not in NUMBERS:
        # The bytes of an object are its place in memory.
        raise TypeError(f"an array of {values.dtype} cannot travel, only one of {', '.join(NUMBERS)}")
    data = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    return Array(values.dtype.name, values.shape, FORMAT, data)


def read_array(array: Array) -> NDArray[np.generic]:
    """Return the numbers of an array that came in a message; they can be written to.

    It has to be exactly what :func:`write_array` makes of an array of one of the allowed types.
    """
    sides, data = tuple(array.shape), array.data
    if array.stype != FORMAT or array.dtype not in NUMBERS:
        raise UnreadableArrayError("holds no numbers, or in another format than this project's")
    dtype = np.dtype(array.dtype)
    if len(sides) > MOST_SIDES or min(sides, default=0) < 0:
        raise UnreadableArrayError(f"has more than {MOST_SIDES} sides, or a side of negative length")
    if 0 in sides and max(sides) > MOST_EMPTY_SIDE:
        raise UnreadableArrayError("is empty and claims a side of an absurd length")
    if math.prod(sides) * dtype.itemsize != len(data):
        raise UnreadableArrayError("has more or fewer bytes than its shape and type need")
    if dtype == np.bool_ and np.frombuffer(data, np.uint8).max(initial=0) > 1:
        raise UnreadableArrayError("holds a truth value that is neither true nor false")
    return np.frombuffer(data, dtype.newbyteorder("<")).reshape(sides).astype(dtype)
