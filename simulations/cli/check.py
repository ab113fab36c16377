"""``pansvm check``: whether a table fits, and what is doubtful about it."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import Drop, Label, SchemaFile, cli, together
from simulations.cli.reading import Reading, with_reading_options

DOES_NOT_FIT, DOUBTFUL = 1, 3
"""Exit codes; 0 if there is nothing to say, 2 if the command is not written right."""


@cli.command()
@with_reading_options
def check(
    table: Annotated[
        Path, typer.Argument(help="CSV, Excel, Parquet, LIBSVM text, or .sql with a URL and a query.")
    ],
    label: Label = None,
    schema: SchemaFile = None,
    drop: Drop = None,
    *,
    reading: Reading,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Tell whether a table fits, and what may be wrong with it; no cell is shown, and nothing is sent.

    Exit code 0: it fits. 1: it does not. 3: it fits, and something is doubtful.
    """
    from clients.table.form import TableForm  # noqa: PLC0415
    from flower_pansvm.table_schema import TableSchema  # noqa: PLC0415
    from simulations.checking.finding import ERROR, NOTE  # noqa: PLC0415
    from simulations.checking.findings import findings  # noqa: PLC0415

    said = {**reading, "drop": together(drop)}
    form = TableForm.of(said, TableSchema.read(schema) if schema else None)
    found = findings(table, label, form)
    if as_json:
        typer.echo(json.dumps([vars(one) for one in found], indent=2, ensure_ascii=False))
    else:
        for one in found:
            typer.echo(f"{one.level.capitalize()}: {one.text}\n")
        typer.echo(f"{table.name} {_outcome([one.level for one in found])}")
    levels = {one.level for one in found}
    sys.exit(DOES_NOT_FIT if ERROR in levels else DOUBTFUL if levels - {NOTE} else 0)


def _outcome(levels: list[str]) -> str:
    if "error" in levels:
        return "does not fit: see the errors above."
    doubts = levels.count("warning")
    return f"fits; {doubts} warning{'s' * (doubts > 1)} above." if doubts else "fits."
