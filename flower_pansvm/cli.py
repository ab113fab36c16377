"""The command ``pansvm``: a table of its commands, each of which is imported when it is called."""

import atexit
import gc
import io
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import click
import typer
from typer.core import TyperCommand, TyperGroup

from flower_pansvm.doors import HOME
from flower_pansvm.errors import PanSVMError, SettingError, install
from flower_pansvm.version import VERSION

TRAINING, STUDIES = "Train and compare with simulated sites", "A study at hospitals"
MODELS, TABLES = "Models and reports", "Tables"
"""Panels of ``pansvm --help``."""


class Row(NamedTuple):
    """A command: where it is, its panel in the help, and its line there, the first of its docstring."""

    target: str  # module:function, or module:group of commands
    panel: str
    line: str


COMMANDS = {
    "run": Row("simulations.cli.run:run", TRAINING, "Train and evaluate a model with simulated sites."),
    "tune": Row(
        "simulations.cli.run:tune",
        TRAINING,
        "Choose C and gamma by federated cross-validation, and train with the best.",
    ),
    "select": Row(
        "simulations.cli.run:select",
        TRAINING,
        "Select features, all sites together, and train with them; the default strategy is voted-wrapper.",
    ),
    "compare": Row(
        "simulations.cli.compare:compare",
        TRAINING,
        "Compare strategies and baselines on the same data, splits and seeds, with tests of the differences.",
    ),
    "reproduce": Row(
        "simulations.cli.experiments:reproduce",
        TRAINING,
        "Reproduce tables and figures of a paper, and compare them with the paper's.",
    ),
    "attack": Row(
        "simulations.cli.experiments:attack",
        STUDIES,
        "Attack simulated hospitals as a malicious coordinator; exit code 1 if a privacy promise is broken.",
    ),
    "demo": Row(
        "simulations.cli.experiments:demo",
        STUDIES,
        "Try a study on this machine: hospitals with synthetic tables, a coordinator, one training.",
    ),
    "coordinator": Row("strategies.cli:coordinator", STUDIES, "Run a study: init, invite, start, train."),
    "hospital": Row(
        "clients.cli.hospital:hospital", STUDIES, "Join a study: init, accept, start; then: status."
    ),
    "budget": Row(
        "clients.cli.hospital:budget",
        STUDIES,
        "Show the privacy budget of a hospital's table, begin one, or end it.",
    ),
    "predict": Row(
        "clients.cli.predict:predict",
        MODELS,
        "Predict the rows of a file; with a label column also the accuracy.",
    ),
    "inspect": Row(
        "flower_pansvm.export.cli:inspect",
        MODELS,
        "Show a model's kind, digest, classes, columns, and the shapes of its arrays.",
    ),
    "export": Row(
        "flower_pansvm.export.cli:export",
        MODELS,
        "Write a model as ONNX, and compare the decisions of both.",
    ),
    "report": Row("strategies.cli:report", MODELS, "Write report.html again from a run's result.json."),
    "check": Row(
        "clients.cli.tables:check",
        TABLES,
        "Check whether a table fits the schema file, and what is doubtful; shows no cell but codes, sends nothing.",
    ),
    "schema": Row(
        "clients.cli.tables:schema",
        TABLES,
        "Draft a schema file for people to correct, without any patient's cell.",
    ),
}

REFERENCES = "simulations.references:bibtex"
"""What ``--cite`` prints."""

EXTRAS = {
    "jinja2": "report",
    "joblib": "simulation",
    "matplotlib": "report",
    "onnx": "export",
    "onnxruntime": "export",
    "tomli_w": "simulation",
}
"""Which extra of this project brings a package that a hospital does without."""


class Commands(TyperGroup):
    """The group of all commands: `COMMANDS` says what its help shows, and a command that is called is imported."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {
            name: TyperCommand(name, help=row.line, rich_help_panel=row.panel)
            for name, row in COMMANDS.items()
        }

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the command that is called."""
        name, shown, rest = super().resolve_command(context, arguments)
        target = COMMANDS[str(name)].target
        # Whatever the command: the first two have the code of a run.
        check_not_hidden({"clients", "strategies", target.split(".")[0]})
        return name, shown and command_at(target), rest


def check_not_hidden(packages: set[str]) -> None:
    """Check that packages of this software are found where it is installed; else SettingError names what hides them."""
    for package in sorted(packages):
        found = find_spec(package)
        if found and found.origin and Path(found.origin).resolve().parents[1] != HOME.resolve():
            raise SettingError(
                f"{found.origin} hides the package '{package}' of flower-pansvm, which is in {HOME}. Take the folder "
                "that has it out of PYTHONPATH; or, if it is the folder you are in, call `pansvm` in place of "
                "`python -m flower_pansvm`."
            )


def command_at(target: str) -> click.Command:
    """Return the command at a target, a function with options in the manner of typer, or a group of such."""
    command: Any = resolve_name(target)
    if not isinstance(command, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(**getattr(command, "of_command", {}))(command)
        command = alone
    return typer.main.get_command(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pansvm {VERSION}")
        raise typer.Exit


def _show_references(wanted: bool) -> None:
    if wanted:
        typer.echo(resolve_name(REFERENCES)(), nl=False)
        raise typer.Exit


cli = typer.Typer(
    cls=Commands,
    help="Train one non-linear SVM over the tables of several hospitals; each table stays where it is.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@cli.callback()
def _group(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_show_version, is_eager=True
    ),
    cite: bool = typer.Option(
        False, "--cite", help="Print whom to cite, as BibTeX.", callback=_show_references, is_eager=True
    ),
) -> None:
    """Make each command go by its name."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error of the user's or of a site's ends it without a traceback."""
    if arguments is None:  # the process is this command's own
        # Imports make many objects and no garbage: Python would look through them again and again, at its end, too.
        gc.set_threshold(50_000)
        atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that does not know a character shows its number.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else arguments
    try:
        # An option with a value that may be left out, which typer does not know.
        cli(["--audit=sums" if argument == "--audit" else argument for argument in given])
    except ModuleNotFoundError as error:
        _say_which_extra(error)
    except (PanSVMError, MemoryError, UnicodeEncodeError, OSError) as error:
        typer.echo(f"Error: {_text_of(error)}", err=True)
        sys.exit(1)


def _text_of(error: Exception) -> str:
    """Return what the user reads of an error."""
    if isinstance(error, PanSVMError):
        return error.with_detail()
    if isinstance(error, MemoryError):
        return (
            "There is too little memory, on this machine or by the limit of this account (ulimit -v). Leave columns or "
            "rows out, end other programs, or use a machine with more."
        )
    if isinstance(error, UnicodeEncodeError):
        return (
            "The name of a file, a folder or a setting has a character that is no UTF-8, most likely as it was made on "
            "a system with another encoding. Rename it."
        )
    return f"{error}. See whether the disk is full, and whether this account may read and write there."


def _say_which_extra(error: ModuleNotFoundError) -> None:
    """End with the extra that brings a missing package, if one does."""
    package = str(error.name).split(".", maxsplit=1)[0]
    if package not in EXTRAS:
        raise error
    extra = EXTRAS[package]
    # That extra has the packages of all commands but this one.
    rest = "" if extra == "export" else f". Most commands need {install('simulation')}"
    sys.exit(
        f"Error: This needs the package {package}, which is not installed. Install it {install(extra)}{rest}"
    )
