"""``pansvm predict``: the rows of a file by a model."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import Decimal, Drop, Label, Separator, cli
from simulations.cli.output import Overwrite, check_file
from simulations.files import complete_file


@cli.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model.npz.")],
    file: Annotated[Path, typer.Argument(help="A table with the columns of the training, and any others.")],
    label: Label = None,
    row_id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Column that says who a row is.")
    ] = None,
    drop: Drop = None,
    separator: Separator = "",
    decimal: Decimal = ".",
    out: Annotated[
        Path | None, typer.Option(help="CSV file for the predictions.", show_default="print them")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Predict the rows of a file; with a label column also the accuracy."""
    from clients.table.form import TableForm  # noqa: PLC0415
    from clients.table.table import columns_text  # noqa: PLC0415
    from simulations.prediction import predict_file  # noqa: PLC0415

    if out is not None:
        check_file(out, overwrite)
    form = TableForm.of({"separator": separator, "decimal": decimal, "drop": ",".join(drop or [])}, None)
    predictions = predict_file(model, file, label, row_id, form)
    if out is None:
        sys.stdout.write(predictions.frame.to_csv(index=False))
    else:
        with complete_file(out, overwrite) as unfinished:
            predictions.frame.to_csv(unfinished, index=False)
    if predictions.unused:
        unused = columns_text(predictions.unused)
        typer.echo(f"The model does not need {unused} of the file.", err=True)
    if predictions.accuracy is not None:
        typer.echo(f"accuracy {predictions.accuracy:.4f} over {len(predictions.frame)} rows", err=out is None)
