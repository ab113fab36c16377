"""The console script ``pansvm``: what its commands share, and how it ends."""

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from flower_pansvm.errors import PanSVMError
from flower_pansvm.version import VERSION

cli = typer.Typer(
    help="Train one non-linear SVM over the tables of several hospitals; each table stays where it is.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

TRAINING, STUDIES = "Train and compare with simulated sites", "A study at hospitals"
MODELS, TABLES = "Models and reports", "Tables"
"""Panels of ``pansvm --help``."""

STOPPED_BY_CTRL_C = 130
"""Exit code, as of any program that a person stops."""

Label = Annotated[str | None, typer.Option(help="Label column; the schema's, or 'label', if not given.")]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="Schema file of the columns, which all sites share.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column to leave out; may be given several times, or by commas."),
]


def together(given: list[str] | None) -> str:
    """Return what an option has listed, which may be given several times, as one list."""
    return ",".join(given or [])


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pansvm {VERSION}")
        raise typer.Exit


@cli.callback()
def _group(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Make each command go by its name."""


def main() -> None:
    """Run the command line; an error of the user's or of a site's ends it without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that does not know a character shows its number.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # An option with a value that may be left out, which typer does not know.
    arguments = ["--audit=sums" if argument == "--audit" else argument for argument in sys.argv[1:]]
    try:
        cli(arguments)
    except PanSVMError as error:
        typer.echo(f"Error: {error.with_detail()}", err=True)
        sys.exit(1)
    except MemoryError:
        typer.echo(
            "Error: There is too little memory, on this machine or by the limit of this account (ulimit -v). Leave "
            "columns or rows out, end other programs, or use a machine with more.",
            err=True,
        )
        sys.exit(1)
    except OSError as error:
        typer.echo(
            f"Error: {error}. See whether the disk is full, and whether this account may read and write there.",
            err=True,
        )
        sys.exit(1)
