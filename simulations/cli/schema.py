"""``pansvm schema``: a first schema file of a table."""

from pathlib import Path
from typing import Annotated

import typer

from flower_pansvm.errors import SettingError
from simulations.cli.app import Drop, Label, cli, together
from simulations.cli.reading import Reading, with_reading_options
from simulations.files import complete_file


@cli.command()
@with_reading_options
def schema(
    table: Annotated[
        Path, typer.Argument(help="CSV, Excel, Parquet, LIBSVM text, or .sql with a URL and a query.")
    ],
    label: Label = None,
    drop: Drop = None,
    *,
    reading: Reading,
    out: Annotated[
        Path | None, typer.Option(help="File to write, which must not exist yet.", show_default="print it")
    ] = None,
) -> None:
    """Write a first schema file, for people to correct: no patient's cell is in it, and no exact extreme."""
    from clients.table.form import TableForm  # noqa: PLC0415
    from clients.table.table import LABEL  # noqa: PLC0415
    from simulations.checking.drafting import draft  # noqa: PLC0415

    if out is not None and out.exists():
        raise SettingError(f"There is a file {out} already. Give another name, or remove it.")
    said = {**reading, "drop": together(drop)}
    text = draft(table, label or LABEL, TableForm.of(said, None))
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        with complete_file(out) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingError(f"{out} cannot be written ({type(error).__name__}). Name another file.") from None
    typer.echo(
        f"{out} describes {table.name}. Correct it, give all sites the same file, and try it with: "
        f"pansvm check {table} --schema {out}"
    )
