"""Excel: the one sheet of a workbook that holds anything, its first row the column names."""

import io
from typing import Any
from zipfile import BadZipFile

import pandas as pd

from clients.table.form import TableForm
from clients.table.sources.rows import EMPTY_ROWS, table_rows
from flower_pansvm.errors import TableError

Cells = list[tuple[Any, ...]]


def read(content: bytes, name: str, form: TableForm) -> pd.DataFrame:
    """Read a workbook. Cells have Excel's types; a formula is its result; rows without any cell do not count.

    Raises
    ------
    TableError
        If it is no workbook, more than one sheet holds something and none is named, a formula has no result, or
        openpyxl is not installed.
    """
    cells, formulas = _filled_sheet(content, name, form, results=False)
    if formulas:
        cells, _ = _filled_sheet(content, name, form, results=True)
        lacking = [(row, column) for row, column in formulas if cells[row][column] is None]
        if lacking:
            raise TableError(
                f"In '{name}', there are formulas whose results are not in the file: another program than Excel wrote "
                "it. Open it in Excel or LibreOffice, save it, and try again.",
                detail=f"They are {len(lacking)}; the first is in data row {lacking[0][0]}.",
            )
    wanted, empty = table_rows(cells, form)
    rows = [cells[number] for number in wanted]
    if not rows:
        raise TableError(f"'{name}' has no row of column names. Is it the right sheet?")
    width = max(place + 1 for row in rows for place, cell in enumerate(row) if cell is not None)
    rows = [row[:width] for row in rows]
    header = ["" if cell is None else str(cell) for cell in rows[0]]
    frame = pd.DataFrame(rows[1:], columns=header, dtype=object)
    frame.attrs[EMPTY_ROWS] = empty
    return frame


def _filled_sheet(
    content: bytes, name: str, form: TableForm, *, results: bool
) -> tuple[Cells, list[tuple[int, int]]]:
    """Return the cells of the sheet that holds any, and the places of formulas; with ``results``, what they gave."""
    try:
        import openpyxl  # noqa: PLC0415 - a hospital without Excel files does without
    except ModuleNotFoundError:
        raise TableError(
            f"To read '{name}', the package openpyxl is needed: pip install 'flower-pansvm[excel]'."
        ) from None
    try:
        workbook = openpyxl.load_workbook(io.BytesIO(content), data_only=results)
    except (BadZipFile, KeyError, ValueError, OSError, SyntaxError) as error:
        # SyntaxError is the base of what a damaged XML file raises.
        raise TableError(
            f"'{name}' cannot be read as an Excel workbook ({type(error).__name__}). Is it protected by a password, "
            "saved in another format under this name, or not copied completely?"
        ) from None
    sheets = [list(sheet.iter_rows()) for sheet in workbook.worksheets if form.sheet in ("", sheet.title)]
    filled = [rows for rows in sheets if any(cell.value is not None for row in rows for cell in row)]
    if len(filled) != 1:
        raise TableError(
            f"'{name}' has {len(filled)} sheets that hold something{' and are called so' * bool(form.sheet)}, and the "
            "table has to be in one. Name it as sheet in the node config or the schema file (pansvm check: --sheet).",
            detail=f"Its sheets are {', '.join(repr(sheet.title) for sheet in workbook.worksheets[:20])}.",
        )
    formulas = [
        (number, place)
        for number, row in enumerate(filled[0])
        for place, cell in enumerate(row)
        if cell.data_type == "f"
    ]
    return [tuple(cell.value for cell in row) for row in filled[0]], formulas
