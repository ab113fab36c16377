"""Files of a site's table, read cell by cell as they are; which source reads which is listed here.

Errors may travel to the coordinator. They hold the name of the file (not its folder), names of columns, row
numbers and counts, and never the content of a cell. *Data row 1* is the first row below the column names.
"""

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

import numpy as np
import pandas as pd

from clients.table.form import AS_IT_IS, TableForm
from clients.table.table import FUNCTION, LABEL, columns_text
from flower_pansvm.errors import PanSVMError, TableError
from flower_pansvm.labels import MOST_COLUMNS, canonical_label, is_number, name_problem, plain_name
from flower_pansvm.lists import split_list
from flower_pansvm.printable import printable
from flower_pansvm.registry import Registry

LIBSVM_SUFFIXES = (".libsvm", ".svm")

SOURCES: Registry[Callable[[bytes, str, TableForm], pd.DataFrame]] = Registry(
    "kind of file",
    {
        ".csv": "clients.table.sources.csv:read",
        ".tsv": "clients.table.sources.csv:read",
        ".parquet": "clients.table.sources.parquet:read",
        ".xlsx": "clients.table.sources.excel:read",
        ".sql": "clients.table.sources.sql:read",
        **dict.fromkeys(LIBSVM_SUFFIXES, "clients.table.sources.libsvm:read"),
    },
    "flower_pansvm.sources",
)
"""What reads a file, by its ending, which may be followed by ``.gz``: a site loads only its table's."""

OTHER_SUFFIXES = {
    **dict.fromkeys((".xls", ".xlsb", ".xlsm", ".ods", ".numbers"), "a spreadsheet; save it as .xlsx or CSV"),
    **dict.fromkeys(
        (".sav", ".dta", ".sas7bdat", ".xpt", ".rds", ".rdata"), "of a statistics program; export CSV"
    ),
    **dict.fromkeys(
        (".db", ".sqlite", ".sqlite3", ".mdb", ".accdb"), "a database; write its URL and query as .sql"
    ),
    **dict.fromkeys((".txt", ".dat", ".data"), "text; if it is CSV, give it the ending .csv"),
    **dict.fromkeys((".json", ".xml", ".feather", ".arff", ".zip", ".pdf", ".docx"), "no table; export CSV"),
}
"""Kinds of files that cannot be read, and the remedy."""


def read_frame(path: Path, form: TableForm = AS_IT_IS) -> pd.DataFrame:
    """Read a file's cells as they are: text from CSV, typed columns from Parquet, numbers from LIBSVM text.

    Texts in ``form.missing`` become None, and lists or the like within a cell become text. TableError if the file is
    missing, damaged, of an unknown kind, or its column names are invalid.
    """
    if path.name.startswith(FUNCTION):
        from clients.table.sources import function  # noqa: PLC0415 - few hospitals have one

        rows = function.call(function.installed_function(path.name), path.name)
        return checked_frame(function.as_frame(rows, path.name, LABEL), path.name, form)
    if path.is_dir():
        raise TableError(
            f"'{path.name or path}' is a folder, not a table. Name the files in it, each by its own name."
        )
    suffix = suffix_of(path.name)
    if suffix not in SOURCES:
        kind = f" ({OTHER_SUFFIXES[suffix]})" if suffix in OTHER_SUFFIXES else ""
        raise TableError(
            f"'{path.name}' is of an unknown kind{kind}. Save the table as CSV, Excel or Parquet; the file name must "
            f"end in {', '.join(SOURCES)}, or in one of them with .gz."
        )
    content = _content(path)
    try:
        frame = checked_frame(SOURCES[suffix](content, path.name, form), path.name, form)
    except (PanSVMError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # anybody's source, whose text may have a cell
        if suffix in SOURCES.data:
            raise
        raise TableError(
            f"'{path.name}' cannot be read: {SOURCES.places()[suffix]} failed with {type(error).__name__}, or returns "
            "no pandas DataFrame. Is the file damaged? Else ask that package's author."
        ) from None
    return frame


def read_in_parts(path: Path, form: TableForm = AS_IT_IS) -> tuple[int, Iterator[pd.DataFrame]] | None:
    """Return the number of rows of a large file and its cells, a block of rows at a time; errors as in `read_frame`.

    None for a file that has to be read as a whole: a small one, or of a kind that cannot be read otherwise.
    """
    if path.suffix.lower() != ".parquet":
        return None
    from clients.table.sources import parquet  # noqa: PLC0415 - most tables are of another kind

    parts = parquet.read_in_parts(path)
    return parts and (parts[0], (checked_frame(frame, path.name, form) for frame in parts[1]))


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
    if not content.strip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"):
        raise TableError(f"'{path.name}' is empty. Is it the right file, and was it copied completely?")
    return content


def checked_frame(frame: pd.DataFrame, name: str, form: TableForm) -> pd.DataFrame:
    """Return the frame with names in their one form and missing cells as None; TableError if a name cannot be one.

    Column names are sent to the coordinator. In a file without a header row they would be a patient's row.
    """
    columns = list(map(plain_name, frame.columns))
    for nth, column in enumerate(columns, start=1):
        if not column or is_number(column) or column.lower() in ("nan", "?"):
            raise TableError(
                f"In '{name}', the name of column {nth} is empty or a number. Is the row with the column names "
                "missing, or are there rows above it (skip-rows)? If it holds row numbers (pandas: index=False), or "
                "nothing, as spreadsheets leave some at the end, remove it; else give it a name with a letter."
            )
        problem = name_problem(column)
        if problem:
            raise TableError(
                f"In '{name}', the name of column {nth} {problem}. Rename it.",
                detail=f"It begins: {printable(column, 40)}",
            )
    repeated = [column for column, count in Counter(columns).items() if count > 1]
    if repeated:
        raise TableError(
            f"'{name}' has columns of the same name, which are ambiguous. Rename or remove the copies.",
            detail=f"There is more than one {columns_text(repeated)}.",
        )
    if len(columns) > MOST_COLUMNS:
        raise TableError(
            f"'{name}' has too many columns: at most {MOST_COLUMNS} can be used. Is it transposed?",
            detail=f"It has {len(columns)}.",
        )
    frame = frame.set_axis(columns, axis=1)
    missing = {canonical_label(text).lower() for text in split_list(form.missing)}
    objects = [i for i, dtype in enumerate(frame.dtypes) if pd.api.types.is_object_dtype(dtype)]
    # As an array: of a hundred thousand columns each Series takes long.
    values = (frame if len(objects) == len(columns) else frame.iloc[:, objects]).to_numpy(dtype=object)
    for index, cells in zip(objects, values.T, strict=True):
        if pd.api.types.infer_dtype(cells).startswith(("mixed", "bytes")):
            plain = np.vectorize(_plain, otypes=[object])(cells)  # pandas would make 1.0 of 1 beside 1.5
            frame.isetitem(index, plain)
    if missing:
        for index in range(len(columns)):
            filled = frame.iloc[:, index].astype(object)
            absent = filled.map(lambda cell: canonical_label(str(cell)).lower() in missing)
            if absent.any():
                frame.isetitem(index, filled.mask(absent.to_numpy(dtype=bool), None).to_numpy(dtype=object))
    return frame


def _plain(cell: object) -> object:
    """Return a cell that can be compared with others: lists and the like, and bytes, as text."""
    if isinstance(cell, bytes):
        return cell.decode(errors="backslashreplace")
    try:
        hash(cell)
    except TypeError:
        return str(cell)
    return cell
