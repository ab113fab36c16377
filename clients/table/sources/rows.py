"""Which rows of text or of a sheet are the table's: not titles above it, remarks, empty rows, a footer."""

from collections.abc import Iterable, Sequence

from clients.table.form import TableForm

EMPTY_ROWS = "empty rows"
"""Key of a frame's ``attrs``: how many rows without any cell, or with the names again, were left out between others."""


def table_rows(rows: Iterable[Sequence[object]], form: TableForm) -> tuple[list[int], int]:
    """Return the indices of the rows that are column names and patients; and how many between are neither.

    Those are empty, or the column names again, as a report writes them on each page.
    """
    kept: list[int] = []
    names: list[object] = []
    empty: list[int] = []
    for index, row in enumerate(rows):
        if index < int(form.skip_rows or 0) or len(row) == 0:
            continue
        # An empty field is a row of a table of one column.
        is_empty = all(cell in (None, "") for cell in row) and list(row) != [""]
        if is_empty or (len(row) > 1 and list(row) == names):
            empty.append(index)
        elif not (form.comment and str(row[0]).startswith(form.comment)):
            names = names or list(row)
            kept.append(index)
    kept = kept[: max(0, len(kept) - int(form.skip_footer or 0))]
    return kept, sum(index < kept[-1] for index in empty) if kept else 0
