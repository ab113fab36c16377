"""``pansvm inspect`` and ``export``: a model, shown or written in another form."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flower_pansvm.command_line import Overwrite, check_file


def export(
    model: Annotated[Path, typer.Argument(help="A model.npz.")],
    out: Annotated[Path, typer.Option(help="The new file.")],
    overwrite: Overwrite = False,
) -> None:
    """Write a model as ONNX, and compare the decisions of both."""
    from flower_pansvm.export.export import TRIED_ROWS, export  # noqa: PLC0415
    from flower_pansvm.models.model import load_model  # noqa: PLC0415
    from flower_pansvm.thresholds import limit_of, result_of  # noqa: PLC0415

    check_file(out, overwrite, model)
    fitted = load_model(model)
    limit = limit_of(fitted, result_of(fitted, model.parent), None, None)
    difference = export(fitted, out, overwrite)
    typer.echo(
        f"{out} has the model. On {TRIED_ROWS} generated rows its decision values differ from the model's by at most "
        f"{difference:.0e}. Its input X has the columns in the order of the entry 'columns' of its metadata, as "
        "doubles, NaN for a missing cell."
    )
    if limit.probability is not None or limit.decision is not None:
        output = "decision" if limit.probability is None else "probabilities"
        typer.echo(
            "Its output label does not know the threshold of the model's run, which 'pansvm predict' uses: "
            f"{limit.text} Compare the output {output} with it."
        )


def inspect(model: Annotated[Path, typer.Argument(help="A model.npz.")]) -> None:
    """Show a model's kind, digest, classes, columns, and the shapes of its arrays."""
    from flower_pansvm.models.model import load_model  # noqa: PLC0415

    fitted = load_model(model)
    columns, positive = fitted.schema_.columns, fitted.schema_.positive_class
    if fitted.schema_.positive_labels:
        positive = f"{positive} (labels {', '.join(fitted.schema_.positive_labels)})"
    facts = {
        "kind": fitted.kind,
        "sha256": fitted.sha256(),
        "classes": ", ".join(fitted.schema_.classes),
        **({"positive class": positive} if positive else {}),
        f"{len(columns)} columns": ", ".join(columns),
        **{
            name: " x ".join(map(str, array.shape)) or str(array.item())
            for name, array in sorted(fitted.to_arrays().items())
            if array.dtype.kind in "fiub"
        },
    }
    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        # A column may be called [red].
        table.add_row(Text(name, style="bold"), Text(value))
    Console().print(table)
