"""The random kernel K(A, B') of Mangasarian & Wild (2008): column block by column block."""

import hashlib
import hmac
from collections.abc import Sequence

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.kernels import Kernel
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.keys import keystream
from flower_pansvm.secure_sum.wire import join_fields


def block_seed(secret: bytes, columns: Sequence[str]) -> bytes:
    """Return the seed of a column block's random matrix from a site's lasting secret: the same in each run."""
    names = (column.encode() for column in columns)
    return hmac.digest(secret, join_fields(tags.COLUMN_BLOCK, *names), "sha256")


def random_matrix(seed: bytes, rows: int, columns: int) -> Floats:
    """Return B_j, shape (rows, columns): uniform on [0, 1), from a seed that the sites of a column block share."""
    key = hmac.digest(seed, tags.RANDOM_MATRIX, "sha256")
    words = keystream(key, rows * columns) >> np.uint64(11)
    return (words.astype(np.float64) * 2.0**-53).reshape(rows, columns)


def matrix_digest(B: Floats) -> str:
    """Return a digest of B_j, by which two of them can be compared."""
    return hashlib.sha256(B.astype("<f8").tobytes()).hexdigest()


def combined(kernel: Kernel, blocks: Sequence[Floats]) -> Floats:
    """Return the kernel over all columns from those over each column block, all of shape (rows, rows of B).

    A sum for the linear kernel (2.6), the entry-wise product for the Gaussian one (3.9).
    """
    stacked = np.stack(blocks)
    whole: Floats = stacked.sum(axis=0) if kernel.name == "linear" else stacked.prod(axis=0)
    return whole
