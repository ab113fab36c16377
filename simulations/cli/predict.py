"""``pansvm predict``: the rows of a file by a model."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import Drop, Label, cli, together
from simulations.cli.output import Overwrite, check_file
from simulations.cli.reading import Reading, with_reading_options

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a text begins that a spreadsheet takes for a formula, or for one after a character that it leaves out."""


@cli.command()
@with_reading_options
def predict(
    model: Annotated[Path, typer.Argument(help="A model.npz.")],
    file: Annotated[Path, typer.Argument(help="A table with the columns of the training, and any others.")],
    label: Label = None,
    row_id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Column that says who a row is.")
    ] = None,
    drop: Drop = None,
    *,
    reading: Reading,
    out: Annotated[
        Path | None, typer.Option(help="CSV or Excel file for the predictions.", show_default="print them")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Predict the rows of a file; with a label column also the accuracy."""
    from clients.table.form import TableForm  # noqa: PLC0415
    from clients.table.table import columns_text  # noqa: PLC0415
    from simulations.prediction import check_can_write, predict_file, write_table  # noqa: PLC0415

    if out is not None:
        check_file(out, overwrite)
        check_can_write(out)
    form = TableForm.of({**reading, "drop": together(drop)}, None)
    predictions = predict_file(model, file, label, row_id, form)
    frame = predictions.frame.rename(columns=harmless).map(harmless)
    if out is None:
        sys.stdout.write(frame.to_csv(index=False))
    else:
        write_table(frame, out)
    if predictions.unused:
        unused = columns_text(predictions.unused)
        typer.echo(f"The model does not need {unused} of the file.", err=True)
    if predictions.empty:
        typer.echo(f"{predictions.empty} rows without any cell have no prediction.", err=True)
    if predictions.ambiguous:
        typer.echo(
            f"Warning: Of {columns_text(predictions.ambiguous)} nobody knows whether points or commas are for "
            "decimals, as they were read, or for thousands. Say it: --thousands, or --thousands none.",
            err=True,
        )
    if predictions.accuracy is not None:
        typer.echo(f"accuracy {predictions.accuracy:.4f} over {len(predictions.frame)} rows", err=out is None)


def harmless(cell: object) -> object:
    """Return a cell with an apostrophe before a text that a spreadsheet would take for a formula and compute.

    Class names come with the model, and ids with the table; others may have written both.

    Examples
    --------
    >>> [harmless(cell) for cell in ("=1+1", "-x", "-1", "+", -0.5, ">50K")]
    ["'=1+1", "'-x", '-1', '+', -0.5, '>50K']
    """
    if not isinstance(cell, str) or len(cell) == 1 or not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
