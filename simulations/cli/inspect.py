"""``pansvm inspect``: what a model file holds."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from simulations.cli.app import cli


@cli.command()
def inspect(
    model: Annotated[Path, typer.Argument(help="A model.npz.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show of what kind a model is, its classes and columns, its parts with their shapes, and its digest."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from flower_pansvm.models.model import load_model  # noqa: PLC0415

    found = load_model(model)
    facts: dict[str, Any] = {
        "kind": found.kind,
        "sha256": found.sha256(),
        "classes": list(found.schema_.classes),
        "columns": list(found.schema_.columns),
        "parts": {
            name: list(array.shape) or array.item()
            for name, array in sorted(found.to_arrays().items())
            if array.dtype.kind in "fiub"
        },
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    table = Table(show_header=False, box=None)

    def add(name: str, value: object) -> None:
        # A column may be called [red].
        table.add_row(Text(name, style="bold"), Text(str(value)))

    add("kind", facts["kind"])
    add("sha256", facts["sha256"])
    add("classes", ", ".join(facts["classes"]))
    add(f"{len(facts['columns'])} columns", ", ".join(facts["columns"]))
    for name, value in facts["parts"].items():
        add(name, " x ".join(map(str, value)) if isinstance(value, list) else value)
    Console().print(table)
