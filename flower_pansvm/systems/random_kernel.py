"""Random kernels: tasks, and the kernel of rows with a random matrix (Mangasarian & Wild 2008)."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.kernels import Kernel
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.keys import keystream
from flower_pansvm.systems.scaling import ExtremesAnswer
from flower_pansvm.tasks import COUNT, Nothing, Task, disclosed, summed


@dataclass(frozen=True)
class CellAnswer:
    """How many rows, for training and test, each column block has; 0 but for the site's own."""

    rows: Floats = summed(COUNT, shape=(-1,), count=True)


CELL = Task("cell", "train", Nothing, CellAnswer, deals=True)
"""The first site of each column block writes the seed of the block's random matrix to the others."""


@dataclass(frozen=True)
class MeansAnswer:
    """Counts and sums for the columns' means; 0 where a column is not the site's."""

    count: Floats = summed(COUNT, shape=("columns",), count=True)
    total: Floats = summed(shape=("columns",))


MEANS = Task("means", "train", Nothing, MeansAnswer, deals=True)


COLUMN_RANGES = Task("column_ranges", "train", Nothing, ExtremesAnswer)
"""Smallest and largest training cell of each of the site's columns, as of a single fold."""


@dataclass(frozen=True)
class KernelQuestion:
    """The kernel and the number of rows of B; the scaling of the columns has been broadcast."""

    kernel: str  # linear or rbf
    mu: float  # width of the Gaussian kernel exp(-mu ||x - b||^2); any number for a linear one
    rows: int  # of the random matrix


@dataclass(frozen=True)
class KernelAnswer:
    """K(A_ij, B_j') of a cell; rows in the order of their ids."""

    kernel: Floats = disclosed(consent="kernel-rows")  # (rows, rows of B)
    labels: Ints = disclosed(consent="row-labels")  # (rows,): class index
    row_block: str = disclosed()  # the same for cells of the same rows; says nothing else to the coordinator
    matrix: str = disclosed()  # digest of B_j


KERNEL = Task("kernel", "train", KernelQuestion, KernelAnswer)
KERNEL_POINTS = Task("kernel_points", "evaluate", KernelQuestion, KernelAnswer)
"""The same of the test rows, on which the model is evaluated."""


def block_seed(secret: bytes, columns: Sequence[str]) -> bytes:
    """Return the seed of a column block's random matrix from a site's lasting secret: the same in each run."""
    names = (column.encode() for column in columns)
    return hmac.digest(secret, tags.join_fields(tags.COLUMN_BLOCK, *names), "sha256")


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
    kernel_rows: Floats = stacked.sum(axis=0) if kernel.name == "linear" else stacked.prod(axis=0)
    return kernel_rows
