"""``pansvm keygen``: a hospital's identity."""

import json
from pathlib import Path
from typing import Annotated

import typer

from simulations.cli.app import cli


@cli.command()
def keygen(
    file: Annotated[Path, typer.Argument(help="New file for the private half; it must not exist yet.")],
    name: Annotated[
        str | None, typer.Option(help="Name of the site.", show_default="the file's name without its ending")
    ] = None,
) -> None:
    """Make a hospital's long-lived identity, by which the other hospitals know its keys to be its own."""
    from flower_pansvm.secure_sum.new_identity import create_identity  # noqa: PLC0415

    public = create_identity(file)
    typer.echo(f"public identity: {public}")
    typer.echo(f"line for the roster file: {json.dumps(name or file.stem)}: {json.dumps(public)}")
    typer.echo(
        f"Keep {file} secret and readable for the SuperNode's account only, and give the line to every other hospital "
        "in a way that cannot be forged, such as on paper or in person. When the lines of all hospitals are in one "
        "JSON file {...}, with commas between them, start the SuperNode with "
        f"identity='{file.absolute()}' and roster='/path/to/that/file' in its node config."
    )
