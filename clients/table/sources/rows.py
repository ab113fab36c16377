"""Which rows of a sheet of text or Excel are the table's: not titles above it, comments, empty rows, a footer."""

from collections.abc import Iterable, Sequence

from clients.table.form import TableForm


def table_rows(rows: Iterable[Sequence[object]], form: TableForm) -> list[int]:
    """Return the numbers, from 0, of the rows that are column names and patients, by what is said of the file."""
    skipped = int(form.skip_rows or 0)
    wanted = [
        number
        for number, row in enumerate(rows)
        if number >= skipped
        # An empty field is a row of a table of one column.
        and (any(cell not in (None, "") for cell in row) or list(row) == [""])
        and not (form.comment and str(row[0]).startswith(form.comment))
    ]
    return wanted[: len(wanted) - int(form.skip_footer or 0)]
