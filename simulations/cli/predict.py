"""``pansvm predict``: the rows of a file by a model."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import Label, cli


@cli.command()
def predict(
    model: Annotated[Path, typer.Argument(help="A model.npz.")],
    file: Annotated[
        Path, typer.Argument(help="CSV, Parquet or LIBSVM text with the columns of the training.")
    ],
    label: Label = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV file for the predictions.", show_default="print them")
    ] = None,
) -> None:
    """Predict the rows of a file; with a label column also the accuracy."""
    from clients.table.table import columns_text  # noqa: PLC0415
    from simulations.prediction import predict_file  # noqa: PLC0415

    predictions = predict_file(model, file, label)
    if out is None:
        sys.stdout.write(predictions.frame.to_csv(index=False))
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        predictions.frame.to_csv(out, index=False)
    if predictions.unused:
        unused = columns_text(predictions.unused)
        typer.echo(f"The model does not need {unused} of the file.", err=True)
    if predictions.accuracy is not None:
        typer.echo(f"accuracy {predictions.accuracy:.4f} over {len(predictions.frame)} rows", err=out is None)
