"""``pansvm inspect``: what a model file holds."""

from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import cli


@cli.command()
def inspect(model: Annotated[Path, typer.Argument(help="A model.npz.")]) -> None:
    """Show of what kind a model is, its classes and columns, its parts with their shapes, and its digest."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from flower_pansvm.models.model import load_model  # noqa: PLC0415

    found = load_model(model)
    schema, table = found.schema_, Table(show_header=False, box=None)

    def add(name: str, value: object) -> None:
        # A column may be called [red].
        table.add_row(Text(name, style="bold"), Text(str(value)))

    add("kind", found.kind)
    add("sha256", found.sha256())
    add("classes", ", ".join(map(str, schema.classes)))
    add(f"{len(schema.columns)} columns", ", ".join(schema.columns))
    for name, array in sorted(found.to_arrays().items()):
        if array.dtype.kind in "fiub":
            add(name, " x ".join(map(str, array.shape)) if array.ndim else array)
    Console().print(table)
