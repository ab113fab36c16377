"""Files of a site's table: CSV, Parquet and LIBSVM text, read without changing a cell.

Errors may travel to the coordinator. They hold the name of the file (not its folder), names of columns, row
numbers and counts, and never the content of a cell. *Data row 1* is the first row below the column names.
"""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath

import pandas as pd
import pyarrow
import pyarrow.parquet
from sklearn.datasets import load_svmlight_file

from clients.table.table import LABEL, columns_text
from flower_pansvm.errors import TableError
from flower_pansvm.labels import NUMBER

LIBSVM_SUFFIXES = (".libsvm", ".svm")
SUFFIXES = (".csv", ".parquet", *LIBSVM_SUFFIXES)
"""Endings of the files that can be read; each may be followed by ``.gz``."""

MISSING = ("", "na", "nan", "?")
"""Texts that mean a missing cell, in lower case."""


def read_frame(path: Path) -> pd.DataFrame:
    """Read a file's cells as they are: text from CSV, typed columns from Parquet, numbers from LIBSVM text.

    Raises
    ------
    TableError
        If the file is missing, damaged, of an unknown kind, or its column names cannot be used.
    """
    suffix = suffix_of(path.name)
    if suffix not in SUFFIXES:
        raise TableError(
            f"'{path.name}' is of an unknown kind. Save the table as CSV, Parquet or LIBSVM text; the file name "
            f"must end in {', '.join(SUFFIXES)}, or in one of them with .gz."
        )
    content = _content(path)
    if suffix == ".csv":
        return _frame_from_csv(content, path.name)
    if suffix == ".parquet":
        return _frame_from_parquet(content, path.name)
    return _frame_from_libsvm(content, path.name)


def suffix_of(name: str) -> str:
    """Return the ending that tells the kind of file, in lower case and without ``.gz``.

    Examples
    --------
    >>> suffix_of("ward.CSV.gz"), suffix_of("breast_cancer")
    ('.csv', '')
    """
    return PurePath(name.lower().removesuffix(".gz")).suffix


def _content(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if it ends in ``.gz``."""
    try:
        content = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            content = gzip.decompress(content)
    except FileNotFoundError:
        raise TableError(
            f"There is no file '{path.name}' where the site looked for its table. Check the path of the data; an "
            "absolute path works from every folder."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(
            f"'{path.name}' cannot be read ({type(error).__name__}). Is it a file, may this process read it, and "
            "was it copied completely?"
        ) from None
    if not content.removeprefix(codecs.BOM_UTF8).strip():
        raise TableError(f"'{path.name}' is empty. Is it the right file, and was it copied completely?")
    return content


def _frame_from_csv(content: bytes, name: str) -> pd.DataFrame:
    try:
        text = content.decode("utf-8-sig")
        header = _header_of_even_rows(text, name)
        # As text: guessing types, pandas would read the labels of one site as 01 and of another as 1.0.
        frame = pd.read_csv(io.StringIO(text), header=0, dtype=str, na_filter=False, index_col=False)
    except UnicodeDecodeError:
        raise TableError(f"'{name}' is not UTF-8 text. Save it again as CSV in UTF-8.") from None
    except (csv.Error, pd.errors.ParserError):
        raise TableError(
            f"'{name}' is not proper CSV: a double quote is never closed or stands inside a field, or a field is "
            "extremely long. Export the file again."
        ) from None
    return _with_checked_columns(frame, header, name)


def _header_of_even_rows(text: str, name: str) -> list[str]:
    """Return the first row of CSV text, after a check that all rows are as long; pandas fills short ones up."""
    rows = (row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row)
    header = next(rows)
    if len(header) == 1 and re.search("[;\t]", header[0]):
        raise TableError(f"'{name}' separates its fields by semicolon or tab. Save it again with commas.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise TableError(
                f"In '{name}', a row has more or fewer fields than there are column names. Put text with commas in "
                "double quotes, write a decimal point instead of a comma, and leave the field of a missing cell empty.",
                detail=f"Data row {number} has {len(row)} fields, and there are {len(header)} column names.",
            )
    return header


def _frame_from_parquet(content: bytes, name: str) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = pyarrow.parquet.ParquetFile(io.BytesIO(content)).read().to_pandas()
    except (pyarrow.ArrowException, OSError) as error:
        raise TableError(
            f"'{name}' cannot be read as Parquet ({type(error).__name__}). Was it copied completely?"
        ) from None
    return _with_checked_columns(frame, [str(column) for column in frame.columns], name)


def _frame_from_libsvm(content: bytes, name: str) -> pd.DataFrame:
    try:
        X, labels = load_svmlight_file(io.BytesIO(content), zero_based=False)
    except (ValueError, OverflowError):
        # The reader's own text quotes the field it could not read.
        raise TableError(
            f"'{name}' is not proper LIBSVM text. Each line must be a number as label and then pairs "
            "index:number, separated by spaces, the indices from 1 upwards and in order."
        ) from None
    frame = pd.DataFrame(X.toarray(), columns=[f"f{number}" for number in range(1, X.shape[1] + 1)])
    frame[LABEL] = labels
    return frame


def _with_checked_columns(frame: pd.DataFrame, names: Sequence[str], name: str) -> pd.DataFrame:
    """Return the frame with stripped column names, after a check that they are names and differ.

    Column names are sent to the coordinator. In a file without a header row they would be a patient's row.
    """
    columns = [column.strip() for column in names]
    for number, column in enumerate(columns, start=1):
        if NUMBER.fullmatch(column) or column.lower() in MISSING:
            raise TableError(
                f"In '{name}', the name of column {number} is empty or a number. Is the row with the column names "
                "missing? If the column holds row numbers, remove it (pandas: index=False), else give it a name "
                "with a letter."
            )
    repeated = [column for column, count in Counter(columns).items() if count > 1]
    if repeated:
        raise TableError(
            f"'{name}' has columns of the same name, which cannot be told apart. Rename or remove the copies.",
            detail=f"There is more than one {columns_text(repeated)}.",
        )
    return frame.set_axis(columns, axis=1)
