"""``pansvm check`` and ``schema``: whether a table fits, what is doubtful about it, and a first schema file of it."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from flower_pansvm.command_line import (
    Drop,
    Label,
    ReadingCommand,
    SchemaFile,
    command,
    given,
    single,
    together,
)
from flower_pansvm.errors import SettingError
from flower_pansvm.files import write

DOES_NOT_FIT, DOUBTFUL = 1, 3
"""Exit codes; 0 if there is nothing to say, 2 if the command is not written right."""

TableFile = Annotated[
    Path, typer.Argument(help="CSV, Excel, Parquet, LIBSVM text, or .sql with a URL and a query.")
]


@command(cls=ReadingCommand)
def check(
    context: typer.Context,
    table: TableFile,
    label: Label = None,
    schema: SchemaFile = None,
    drop: Drop = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check whether a table fits the schema file, and what is doubtful; shows no cell but codes, sends nothing.

    Exit code 0: it fits. 1: it does not. 3: it fits, and something is doubtful.
    """
    from clients.checking.finding import ERROR, NOTE  # noqa: PLC0415
    from clients.checking.findings import findings  # noqa: PLC0415
    from clients.table.form import TableForm  # noqa: PLC0415
    from flower_pansvm.table_schema import TableSchema  # noqa: PLC0415

    options = {**single(given(context)), "drop": together(drop)}
    form = TableForm.of(options, TableSchema.read(schema) if schema else None)
    results = findings(table, label, form)
    if as_json:
        typer.echo(json.dumps([vars(finding) for finding in results], indent=2, ensure_ascii=False))
    else:
        for finding in results:
            typer.echo(f"{finding.level.capitalize()}: {finding.text}\n")
        typer.echo(f"{table.name} {_outcome([finding.level for finding in results])}")
    levels = {finding.level for finding in results}
    sys.exit(DOES_NOT_FIT if ERROR in levels else DOUBTFUL if levels - {NOTE} else 0)


def _outcome(levels: list[str]) -> str:
    if "error" in levels:
        return "does not fit: see the errors above."
    doubts = levels.count("warning")
    return f"fits; {doubts} warning{'s' * (doubts > 1)} above." if doubts else "fits."


@command(cls=ReadingCommand)
def schema(
    context: typer.Context,
    table: TableFile,
    label: Label = None,
    drop: Drop = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write, which must not exist yet.", show_default="print it")
    ] = None,
) -> None:
    """Draft a schema file for people to correct, without any patient's cell."""
    from clients.checking.drafting import draft  # noqa: PLC0415
    from clients.table.form import TableForm  # noqa: PLC0415
    from clients.table.table import LABEL  # noqa: PLC0415

    if out is not None and out.exists():
        raise SettingError(f"There is a file {out} already. Give another name, or remove it.")
    options = {**single(given(context)), "drop": together(drop)}
    made = draft(table, label or LABEL, TableForm.of(options, None))
    for misfit in made.misfits:
        typer.echo(f"Note: {misfit}\n", err=out is None)
    if out is None:
        typer.echo(made.text, nl=False)
        return
    try:
        write(out, made.text)
    except OSError as error:
        raise SettingError(f"{out} cannot be written: {error.strerror}. Name another file.") from None
    typer.echo(
        f"{out} describes {table.name}. Correct it, give all sites the same file, and try it with: "
        f"pansvm check {table} --schema {out}"
    )
