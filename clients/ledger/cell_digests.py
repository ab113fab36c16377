"""Digests of cells: by their sums a record is told from others, and a table is known again."""

from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from numpy.typing import NDArray

Digests = NDArray[np.uint64]
BLOCK_ROWS = 2**16
"""Rows at a time."""


def cell_digests(cipher: Cipher[Any], tag: int, cells: NDArray[np.float64]) -> Digests:
    """Return the digests of some cells of a column, shape (rows,): of its tag and each number in single precision."""
    octets = np.empty((len(cells), 2), "<u8")
    with np.errstate(over="ignore"):
        # One way to write a zero, and one for a missing cell.
        single = np.where(np.isnan(cells), np.nan, cells + 0.0).astype("<f4")
    octets[:, 0], octets[:, 1] = single.view("<u4"), tag
    return np.frombuffer(cipher.encryptor().update(octets.tobytes()), "<u8")[::2]
