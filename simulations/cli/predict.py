"""``pansvm predict``: the rows of a file by a model."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import Drop, Label, cli, together
from simulations.cli.output import Overwrite, check_file
from simulations.cli.reading import Reading, with_reading_options


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
    if out is None:
        sys.stdout.write(predictions.frame.to_csv(index=False))
    else:
        write_table(predictions.frame, out)
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
