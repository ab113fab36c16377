"""Parquet: typed columns. The index of a saved data frame is a column if it has a name."""

import io

import pandas as pd

from clients.table.form import TableForm
from flower_pansvm.errors import TableError


def read(content: bytes, name: str, form: TableForm) -> pd.DataFrame:  # noqa: ARG001
    """Read a Parquet file; TableError if it is damaged, or pyarrow is not installed."""
    try:
        import pyarrow  # noqa: PLC0415 - a hospital without Parquet files does without
        import pyarrow.parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise TableError(
            f"To read '{name}', the package pyarrow is needed: pip install 'flower-pansvm[parquet]'."
        ) from None
    try:
        frame: pd.DataFrame = pyarrow.parquet.ParquetFile(io.BytesIO(content)).read().to_pandas()
    except (pyarrow.ArrowException, OSError) as error:
        raise TableError(
            f"'{name}' cannot be read as Parquet ({type(error).__name__}). Was it copied completely?"
        ) from None
    named = [level for level in frame.index.names if level is not None]
    if named:
        frame = frame.reset_index(level=named, allow_duplicates=True)
    return frame.reset_index(drop=True)
