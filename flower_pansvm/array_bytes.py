"""Arrays from elsewhere, read with nothing believed: what Flower announces is held against every byte.

Flower sends an array in numpy's file format: a few fixed bytes, a header that is the text of a Python dict, and the
numbers. The header is not parsed: it has to be the one that numpy writes for the announced type and shape.
"""

import math

import numpy as np
from flwr.app import Array
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY\x01\x00"
HEADER_STARTS = len(MAGIC) + 2  # its length comes first, in two bytes
MOST_SIDES = 8
MOST_EMPTY_SIDE = 2**20  # of an array without any items: its bytes say nothing of how long a side may be
NUMBERS = ("float64", "float32", "int64", "uint8", "bool")


class UnreadableArrayError(Exception):
    """An array cannot be what it says it is; the text says why, and follows the words "an array that"."""


def read_array(array: Array) -> NDArray[np.generic]:
    """Return the numbers of an array that came in a message; they can be written to.

    It has to be exactly what numpy writes for an array in C order of one of the allowed types.
    """
    sides, data = tuple(array.shape), array.data
    if array.dtype not in NUMBERS:
        raise UnreadableArrayError("holds no numbers, but items of another kind")
    dtype = np.dtype(array.dtype)
    if len(sides) > MOST_SIDES or min(sides, default=0) < 0:
        raise UnreadableArrayError(f"has more than {MOST_SIDES} sides, or a side of negative length")
    if 0 in sides and max(sides) > MOST_EMPTY_SIDE:
        raise UnreadableArrayError("is empty and claims a side of an absurd length")
    start = HEADER_STARTS + int.from_bytes(data[len(MAGIC) : HEADER_STARTS], "little")
    header = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {sides!r}, }}"
    written = data[HEADER_STARTS:start].rstrip(b" \n")
    if array.stype != "numpy.ndarray" or not data.startswith(MAGIC) or written != header.encode():
        raise UnreadableArrayError("is not in numpy's format, with the type and shape that Flower announces")
    if math.prod(sides) * dtype.itemsize != len(data) - start:
        raise UnreadableArrayError("has more or fewer bytes than its shape and type need")
    values = np.frombuffer(data, dtype, offset=start)
    if dtype.kind == "b" and values.view(np.uint8).max(initial=0) > 1:
        raise UnreadableArrayError("holds a truth value that is neither true nor false")
    return values.reshape(sides).copy()
