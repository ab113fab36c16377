"""Cells of a large table: in a file on the site's own disk, and looked at where they lie.

Ten million rows of twenty columns are 1.6 gigabytes, and a table that is read, put into order and split is there
several times. So many cells are written, a block of rows at a time, into a file without a name, which ends with the
process; and whoever wants rows maps the file into memory for as long as that takes.
"""

import math
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import TableError

LARGEST_IN_MEMORY = 2**25
"""Bytes of cells that stay in memory."""


class CellsOnDisk:
    """Cells in a file, which may be closed: as float64, one row after the other, from the byte ``start`` on."""

    def __init__(self, file: BinaryIO, shape: tuple[int, int], start: int = 0) -> None:
        self.file, self.shape, self.start = os.dup(file.fileno()), shape, start
        weakref.finalize(self, os.close, self.file)

    def mapped(self) -> Floats:
        """Return the cells, shape (rows, columns), which cannot be changed and take no memory once they are let go."""
        count = math.prod(self.shape)
        content = mmap.mmap(self.file, self.start + 8 * count, access=mmap.ACCESS_READ)
        return np.frombuffer(content, np.float64, count, self.start).reshape(self.shape)


Cells = Floats | CellsOnDisk


def mapped(cells: Cells) -> Floats:
    """Return cells as an array, shape (rows, columns), wherever they are."""
    return cells.mapped() if isinstance(cells, CellsOnDisk) else cells


def collected(parts: Iterable[Floats], rows: int, folder: Path | None) -> Cells:
    """Put blocks of rows together, ``rows`` in all: in memory, or in a file if they are many and there is a folder.

    TableError if they do not fit on the disk.
    """
    parts = iter(parts)
    first = next(parts)
    shape, parts = (rows, first.shape[1]), chain([first], parts)
    if folder is None or 8 * math.prod(shape) <= LARGEST_IN_MEMORY:
        return np.concatenate(list(parts))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A file without a name, which only this process can open.
        with tempfile.TemporaryFile(dir=folder) as file:
            for part in parts:
                file.write(np.ascontiguousarray(part, dtype=np.float64).data)
            file.flush()
            return CellsOnDisk(file, shape)
    except OSError as error:
        raise TableError(
            f"There is no room for a copy of the table's cells ({type(error).__name__}). Make room on the disk of the "
            "cache folder, name another folder as 'cache' in the node config, or write cache='none' to hold all in "
            "memory."
        ) from None
