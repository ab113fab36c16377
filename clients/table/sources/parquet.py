"""Parquet: typed columns. The index of a saved data frame is a column if it has a name."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from clients.table.form import TableForm
from flower_pansvm.errors import TableError, install

if TYPE_CHECKING:
    import pyarrow

LARGEST_AT_ONCE = 2**25
"""Bytes of cells of a file that is read as a whole."""

CELLS_AT_ONCE = 1_000_000
"""Cells of a large file that are read at a time."""

BUFFER = 2**20
"""Bytes of a column that are read at a time: a file may be a single row group, which would be read as a whole."""


def read(content: bytes, name: str, form: TableForm) -> pd.DataFrame:  # noqa: ARG001
    """Read a Parquet file; TableError if it is damaged, or pyarrow is not installed."""
    try:
        import pyarrow  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise TableError(f"To read '{name}', the package pyarrow is needed: {install('parquet')}.") from None
    try:
        return _frame(pyarrow.parquet.ParquetFile(io.BytesIO(content)).read())
    except Exception as error:  # a damaged file makes pyarrow and pandas raise nearly anything
        raise _damaged(name, error) from None


def read_in_parts(path: Path) -> tuple[int, Iterator[pd.DataFrame]] | None:
    """Return the number of rows of a large file and, one after the other, blocks of them.

    None for a small file, for one that cannot be opened, of which :func:`read` says why, and for one whose named index
    is not stored, as only the file as a whole has it.
    """
    try:
        import pyarrow.parquet  # noqa: PLC0415

        file = pyarrow.parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
        size = file.metadata
        index = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        named = any(isinstance(level, dict) and level["name"] for level in index)
    except Exception:  # as above
        return None
    if named or 8 * size.num_rows * size.num_columns <= LARGEST_AT_ONCE:
        file.close()
        return None
    return size.num_rows, _parts(file, path.name)


def _parts(file: "pyarrow.parquet.ParquetFile", name: str) -> Iterator[pd.DataFrame]:
    import pyarrow  # noqa: PLC0415

    try:
        for batch in file.iter_batches(max(1, CELLS_AT_ONCE // file.metadata.num_columns)):
            yield _frame(pyarrow.Table.from_batches([batch]))
    except Exception as error:  # as above
        raise _damaged(name, error) from None


def _frame(table: "pyarrow.Table") -> pd.DataFrame:
    table.validate(full=True)  # otherwise invalid texts would be noticed later
    frame: pd.DataFrame = table.to_pandas()
    named = [level for level in frame.index.names if level is not None]
    if named:
        frame = frame.reset_index(level=named, allow_duplicates=True)
    return frame.reset_index(drop=True)


def _damaged(name: str, error: Exception) -> TableError:
    return TableError(
        f"'{name}' cannot be read as Parquet ({type(error).__name__}). Was it copied completely? If so, a column is of "
        "a kind, a text is not UTF-8, or a note for pandas says something, that cannot be read: write it without, or "
        "as CSV."
    )
