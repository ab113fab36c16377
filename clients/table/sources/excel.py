"""Excel: the one sheet of a workbook that holds anything, its first row the column names."""

import io
from typing import Any

import pandas as pd

from clients.table.form import TableForm
from clients.table.sources.rows import EMPTY_ROWS, table_rows
from flower_pansvm.errors import TableError, install


def read(content: bytes, name: str, form: TableForm) -> pd.DataFrame:
    """Read a workbook. Cells have Excel's types; a formula is its result; rows without any cell do not count.

    TableError if it is no workbook, more than one sheet has content and none is named, a formula has no result, a cell
    of the table spans several, or openpyxl is not installed.
    """
    sheet = _filled_sheet(content, name, form)
    cells = _filled(sheet)
    formulas = [position for position, cell in sheet._cells.items() if cell.data_type == "f"]
    if formulas:
        cells = _filled(_workbook(content, name, results=True)[sheet.title])
        lacking = sorted(set(formulas) - cells.keys())
        if lacking:
            raise TableError(
                f"In '{name}', there are formulas whose results are not in the file: another program than Excel wrote "
                "it. Open it in Excel or LibreOffice, save it, and try again.",
                detail=f"They are {len(lacking)}; the first is in row {lacking[0][0]} of the sheet.",
            )
    rows: list[list[Any]] = [[None] for _ in range(max(row for row, _ in cells))]
    for (row, column), value in sorted(cells.items()):
        rows[row - 1] += [None] * (column - len(rows[row - 1]))
        rows[row - 1][column - 1] = value
    kept, empty = table_rows(rows, form)
    if not kept:
        raise TableError(f"'{name}' has no row of column names. Is it the right sheet?")
    _check_merged(sheet, set(kept), name)
    width = max(len(rows[row]) for row in kept)
    header, *filled = [rows[row] + [None] * (width - len(rows[row])) for row in kept]
    columns = ["" if cell is None else str(cell) for cell in header]
    frame = pd.DataFrame(filled, columns=columns, dtype=object)
    frame.attrs[EMPTY_ROWS] = empty
    return frame


def _workbook(content: bytes, name: str, *, results: bool) -> Any:
    """Return a workbook with its formulas; with ``results``, with their results."""
    try:
        import openpyxl  # noqa: PLC0415 - a hospital without Excel files does without
    except ModuleNotFoundError:
        raise TableError(f"To read '{name}', the package openpyxl is needed: {install('excel')}.") from None
    try:
        return openpyxl.load_workbook(io.BytesIO(content), data_only=results)
    except Exception as error:  # a damaged file makes openpyxl raise nearly anything
        raise TableError(
            f"'{name}' cannot be read as an Excel workbook ({type(error).__name__}). Is it protected by a password, "
            "saved in another format under this name, or not copied completely? If Excel opens it, save it as CSV."
        ) from None


def _filled_sheet(content: bytes, name: str, form: TableForm) -> Any:
    """Return the one sheet that holds anything, of those that are called as the form says."""
    sheets = _workbook(content, name, results=False).worksheets
    filled = [sheet for sheet in sheets if form.sheet in ("", sheet.title) and _filled(sheet)]
    if len(filled) != 1:
        raise TableError(
            f"'{name}' has {len(filled)} sheets that hold something{' and are called so' * bool(form.sheet)}, and the "
            "table has to be in one. Name it as sheet in the node config or the schema file (pansvm check: --sheet).",
            detail=f"Its sheets are {', '.join(repr(sheet.title) for sheet in sheets[:20])}.",
        )
    return filled[0]


def _filled(sheet: Any) -> dict[tuple[int, int], Any]:
    """Return the content of a sheet's cells, by row and column from 1.

    A sheet may have cells without content up to its millionth row; of the rectangle of all, openpyxl would make the
    missing ones, too.
    """
    return {position: cell.value for position, cell in sheet._cells.items() if cell.value is not None}


def _check_merged(sheet: Any, kept: set[int], name: str) -> None:
    """Check that no cell of the table, whose rows are counted from 0, spans others, which would count as missing."""
    for merged in sheet.merged_cells.ranges:
        if not kept.isdisjoint(range(merged.min_row - 1, merged.max_row)):
            raise TableError(
                f"'{name}' has merged cells, of which only the first holds something; the others would count as "
                "missing. Unmerge them, and fill each. Titles above the table are left out by skip-rows.",
                detail=f"Look at {merged.coord}.",
            )
