"""Arrays from elsewhere, read with nothing believed: what an array says of itself is held against its bytes.

Flower sends an array in numpy's file format: a few fixed bytes, a header that is the text of a Python dict, and the
numbers. numpy's own reader takes the header at its word. One that claims ten thousand million items of no bytes each
would keep it busy for hours.
"""

import math
import re

import numpy as np
from flwr.app import Array
from numpy.typing import NDArray

FORMAT = "numpy.ndarray"
MAGIC = b"\x93NUMPY\x01\x00"
PREFIX_BYTES = len(MAGIC) + 2
"""The header's length follows the magic bytes, in two bytes."""

MOST_HEADER_BYTES = 1024
MOST_SIDES = 8
MOST_EMPTY_SIDE = 2**20
"""Largest side of an array without any items: its bytes say nothing of how long it may be."""

MOST_CHARACTERS = 1000
"""Longest text in an array of texts."""

NUMBERS = ("<f8", "<i8", "|u1", "|b1")
"""What arrays hold besides texts, ``<U…``: floats, whole numbers, bytes, and whether something is so."""

HEADER = re.compile(
    r"\{'descr': '([<|][a-zA-Z][0-9]{1,6})', 'fortran_order': False, "
    r"'shape': \(((?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\), \} *\n",
    re.ASCII,
)
LARGEST_CHARACTER = 0x10FFFF
SURROGATES = range(0xD800, 0xE000)


class UnreadableArrayError(Exception):
    """An array cannot be what it says it is; the text says why, and follows the words "an array that"."""


def read_array(array: Array) -> NDArray[np.generic]:
    """Return the numbers or texts of an array that came in a message; they can be written to.

    Parameters
    ----------
    array : Array
        Flower's array.

    Raises
    ------
    UnreadableArrayError
        If it is not exactly what numpy writes for an array in C order of one of the allowed types.
    """
    start = _start_of_items(array)
    parts = HEADER.fullmatch(array.data[PREFIX_BYTES:start].decode("ascii", errors="replace"))
    if parts is None:
        raise UnreadableArrayError("has a damaged header")
    dtype = _allowed(parts[1])
    sides = [int(side) for side in parts[2].split(",") if side.strip()]
    if len(sides) > MOST_SIDES:
        raise UnreadableArrayError(f"has more than {MOST_SIDES} sides")
    if math.prod(sides) * dtype.itemsize != len(array.data) - start:
        raise UnreadableArrayError("has more or fewer bytes than its shape and type need")
    if math.prod(sides) == 0 and max(sides) > MOST_EMPTY_SIDE:
        raise UnreadableArrayError("is empty and claims a side of an absurd length")
    if array.dtype != str(dtype) or array.shape != tuple(sides):
        raise UnreadableArrayError("does not have the type and shape that Flower announces")
    values = np.frombuffer(array.data, dtype, offset=start)
    _check_items(values)
    return values.reshape(sides).copy()


def _start_of_items(array: Array) -> int:
    """Return where the items begin, after the header."""
    if array.stype != FORMAT or not array.data.startswith(MAGIC):
        raise UnreadableArrayError("is not in numpy's format")
    length = int.from_bytes(array.data[len(MAGIC) : PREFIX_BYTES], "little")
    if length > MOST_HEADER_BYTES:
        raise UnreadableArrayError("has a header of an absurd length")
    return PREFIX_BYTES + length


def _allowed(descr: str) -> np.dtype[np.generic]:
    """Return the type of the items, if it is one that this project sends."""
    is_text = descr.startswith("<U") and 1 <= int(descr[2:]) <= MOST_CHARACTERS
    if descr not in NUMBERS and not is_text:
        raise UnreadableArrayError(
            f"holds neither numbers nor texts of at most {MOST_CHARACTERS} characters, but items of another kind"
        )
    return np.dtype(descr)


def _check_items(values: NDArray[np.generic]) -> None:
    """Check the bytes of items not all of which are values of their type."""
    if values.dtype.kind == "b" and values.view(np.uint8).max(initial=0) > 1:
        raise UnreadableArrayError("holds a truth value that is neither true nor false")
    if values.dtype.kind == "U":
        codes = values.view("<u4")
        halves = (codes >= SURROGATES.start) & (codes < SURROGATES.stop)
        if codes.max(initial=0) > LARGEST_CHARACTER or halves.any():
            raise UnreadableArrayError("holds a text with characters that do not exist")
