"""CSV: text with a separator between the fields, and a row of column names."""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from clients.table.form import TableForm
from clients.table.sources.rows import EMPTY_ROWS, table_rows
from flower_pansvm.errors import TableError

OTHERS = {
    b"PK\x03\x04": " but a ZIP archive, such as an Excel workbook with another ending",
    b"PAR1": " but Parquet with another ending",
    b"\x1f\x8b": " but compressed: give it the ending .gz, or unpack it once more",
}
"""First bytes of other kinds of files, and their names."""

UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "'|'"}

EXCELS_LINE = re.compile(r'"?sep=(.)"?(?:\r\n|\r|\n|$)', re.IGNORECASE)
"""A first line by which Excel says what the separator is."""


def read(content: bytes, name: str, form: TableForm) -> pd.DataFrame:
    """Read CSV: all cells are text. TableError if it is no CSV, or a row is longer or shorter than the row of names."""
    text = _decoded(content, name, form)
    mark = EXCELS_LINE.match(text)
    if mark:
        text = text[mark.end() :]
    separator = form.separator or (mark and mark[1]) or ("\t" if ".tsv" in name.lower() else ",")
    try:
        header, text, empty = _table_of(text, name, replace(form, separator=separator), bool(form.separator))
        # As text: guessing types, pandas would read the labels of one site as 01 and of another as 1.0. Of Python's
        # own kind, as that is what the cells are parsed from.
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            header=0,
            dtype=object,
            na_filter=False,
            index_col=False,
            skip_blank_lines=False,
        )
    except (csv.Error, pd.errors.ParserError):
        raise TableError(
            f"'{name}' is not proper CSV: a double quote is never closed or stands inside a field, or a field is "
            "extremely long. Export the file again."
        ) from None
    # Spreadsheets end each line with separators of columns that hold nothing.
    while len(header) > 1 and not header[-1].strip() and (frame.iloc[:, -1] == "").all():
        header, frame = header[:-1], frame.iloc[:, :-1]
    frame.attrs[EMPTY_ROWS] = empty
    return frame.set_axis(header, axis=1).copy()  # in one block: of thousands of columns all is slow else


def _decoded(content: bytes, name: str, form: TableForm) -> str:
    encoding = form.encoding or ("utf-16" if content.startswith(UTF16) else "utf-8")
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
        if "\0" in text:
            raise UnicodeError  # UTF-16 without its mark, or damaged
        return text
    except UnicodeError:
        kind = next((kind for start, kind in OTHERS.items() if content.startswith(start)), "")
        raise TableError(
            f"'{name}' is not text in {encoding}{kind}. Save it again as CSV in UTF-8, or set its encoding: often "
            "encoding=cp1252 (Windows), latin-1, or utf-16-le."
        ) from None


def _rows(text: str, separator: str) -> Iterator[tuple[list[str], int]]:
    """Return the fields of each row, and its length in characters."""
    length = 0

    def lines() -> Iterator[str]:
        nonlocal length
        for line in io.StringIO(text, newline=""):
            length += len(line)
            yield line

    for row in csv.reader(lines(), delimiter=separator, strict=True):
        yield row, length
        length = 0


def _table_of(text: str, name: str, form: TableForm, is_given: bool) -> tuple[list[str], str, int]:
    """Return the row of names, the text of the table's rows alone, and the number of empty rows left out.

    Raises a TableError unless all its rows are as long; pandas fills short ones up.
    """
    ends, fields = [0], []

    def cells() -> Iterator[list[str]]:
        for row, length in _rows(text, form.separator):
            ends.append(ends[-1] + length)
            fields.append(len(row))
            yield row

    kept, empty = table_rows(cells(), form)
    if not kept:
        raise TableError(f"'{name}' has no row of column names. Is it the right file?")
    if len(kept) < len(fields):
        text = "".join(text[ends[row] : ends[row + 1]] for row in kept)
    header = next(row for row, _ in _rows(text, form.separator) if row)
    _check_separator(header, name, form.separator, is_given)
    for nth, row in enumerate(kept[1:], start=1):
        if fields[row] != len(header):
            raise TableError(
                f"In '{name}', a row has more or fewer fields than there are column names. Put text that holds the "
                "separator in double quotes, write a decimal point instead of a comma, and leave the field of a "
                "missing cell empty. Titles, remarks and footers are left out by skip-rows, comment and skip-footer.",
                detail=f"Data row {nth} has {fields[row]} fields, and there are {len(header)} column names.",
            )
    return header, text, empty


def _check_separator(header: Sequence[str], name: str, separator: str, is_given: bool) -> None:
    """Check that the row of names has no other separator; TableError if it has."""
    counts = {mark: "".join(header).count(mark) for mark in SEPARATORS if mark != separator}
    most = max(counts, key=lambda mark: counts[mark])
    if counts[most] >= len(header) and (len(header) == 1 or not is_given):
        word = SEPARATORS[most]
        raise TableError(
            f"'{name}' does not separate its fields by {SEPARATORS.get(separator, 'the given separator')}: most "
            f"likely by {word}. Set it in the node config or the schema file: separator={word} (pansvm check: "
            f"--separator {word}). Such files often have decimal commas: decimal=comma."
        )
