"""``pansvm export``: a model for programs that know nothing of this project."""

from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import cli
from simulations.cli.output import Overwrite, check_file

HOW = {
    "onnx": "Its input X has the columns in the order of the entry 'columns' of its metadata, as doubles, NaN for a "
    "missing cell.",
    "skops": "Load it with: skops.io.load({path!r}, trusted={trusted})",
}
"""How a file of each format is used."""


@cli.command()
def export(
    model: Annotated[Path, typer.Argument(help="A model.npz.")],
    to: Annotated[
        str, typer.Option(help="onnx, for any runtime of ONNX; or skops, a pipeline of scikit-learn's own.")
    ],
    out: Annotated[Path, typer.Option(help="The new file.")],
    overwrite: Overwrite = False,
) -> None:
    """Write a model as ONNX or as an estimator of scikit-learn, and compare what it decides there and here."""
    from flower_pansvm.models.model import load_model  # noqa: PLC0415
    from flower_pansvm.setting_values import check_choice  # noqa: PLC0415
    from simulations.export import export as exporting  # noqa: PLC0415

    check_choice("format", to, exporting.FORMATS)
    check_file(out, overwrite)
    found = load_model(model)
    difference = exporting.export(found, to, out, overwrite)
    typer.echo(
        f"{out} has the model. On {exporting.TRIED_ROWS} generated rows its decision values differ from the model's "
        f"by at most {difference:.0e}. {HOW[to].format(path=str(out), trusted=exporting.TRUSTED)}"
    )
    if to == "skops" and hasattr(found, "predict_proba"):
        typer.echo("The pipeline has no probabilities; the ONNX file has.", err=True)
