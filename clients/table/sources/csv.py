"""CSV: text with a separator between the fields, and a row of column names."""

import csv
import io
import re

import pandas as pd

from clients.table.form import TableForm
from flower_pansvm.errors import TableError

ZIP, PARQUET, UTF16 = b"PK\x03\x04", b"PAR1", (b"\xff\xfe", b"\xfe\xff")
"""How files of other kinds begin."""


def read(content: bytes, name: str, form: TableForm) -> pd.DataFrame:
    """Read CSV in UTF-8; all cells are text, an empty one an empty text.

    Raises
    ------
    TableError
        If it is no CSV, or a row is longer or shorter than the row of names.
    """
    separator = form.separator or ("\t" if ".tsv" in name.lower() else ",")
    try:
        text = content.decode("utf-8-sig")
        header = _header_of_even_rows(text, name, separator)
        # As text: guessing types, pandas would read the labels of one site as 01 and of another as 1.0. Of Python's
        # own kind, as that is what the cells are parsed from.
        frame = pd.read_csv(
            io.StringIO(text), sep=separator, header=0, dtype=object, na_filter=False, index_col=False
        )
    except UnicodeDecodeError:
        raise TableError(
            f"'{name}' is not UTF-8 text{_guess(content)}. Save it again as CSV in UTF-8."
        ) from None
    except (csv.Error, pd.errors.ParserError):
        raise TableError(
            f"'{name}' is not proper CSV: a double quote is never closed or stands inside a field, or a field is "
            "extremely long. Export the file again."
        ) from None
    return frame.set_axis(header, axis=1)


def _guess(content: bytes) -> str:
    if content.startswith(ZIP):
        return " but a ZIP archive, such as an Excel workbook with another ending"
    if content.startswith(PARQUET):
        return " but Parquet with another ending"
    return " but UTF-16" if content.startswith(UTF16) else ""


def _header_of_even_rows(text: str, name: str, separator: str) -> list[str]:
    """Return the first row of CSV text, after a check that all rows are as long; pandas fills short ones up."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows = (row for row in lines if row)
    header = next(rows)
    if len(header) == 1 and re.search("[,;\t]", header[0]):
        raise TableError(
            f"'{name}' separates its fields by something else: a comma, semicolon or tab. Name it as separator in the "
            "node config or the settings (separator=semicolon, or tab; pansvm: --separator)."
        )
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise TableError(
                f"In '{name}', a row has more or fewer fields than there are column names. Put text that holds the "
                "separator in double quotes, write a decimal point instead of a comma, and leave the field of a "
                "missing cell empty.",
                detail=f"Data row {number} has {len(row)} fields, and there are {len(header)} column names.",
            )
    return header
