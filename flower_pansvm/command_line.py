"""What commands share: options made of declared fields, ``--set KEY=VALUE``, and files to write."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperOption

from flower_pansvm.errors import SettingError

Given = Mapping[str, tuple[str, ...]]
"""What was typed, by key; several values if an option was given several times."""

Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Another way to write --KEY VALUE, for any setting."),
]

Label = Annotated[str | None, typer.Option(help="Label column; the schema's, or 'label', if not given.")]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="Schema file of the columns, which all sites share.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Columns to leave out, comma-separated; may be given several times."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over what is at --out.")]

STOPPED_BY_CTRL_C = 130
"""Exit code, as of any program that a person stops."""

LISTS = ("drop", "positive")
"""Settings that are lists: given several times, their parts are put together."""

OF_COMMANDS = ("out", "resume", "audit")
"""Settings of which a command has to know: it declares the option itself, or has none."""

_KEPT = "flower_pansvm.command_line"

Function = TypeVar("Function", bound=Callable[..., None])


def command(**of_command: Any) -> Callable[[Function], Function]:
    """Return a decorator that keeps what typer is to know of a command's function: its class, or other settings."""

    def keep(function: Function) -> Function:
        vars(function)["of_command"] = of_command
        return function

    return keep


class FieldCommand(TyperCommand):
    """A command with an option for each of some fields, made when the command is used: reading them may take seconds.

    `given` returns what was typed.
    """

    def field_options(self) -> list[TyperOption]:
        """Return the options that are made of fields."""
        raise NotImplementedError

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command's function, after those options that are in no panel of their own."""
        first: list[TyperOption] = []
        others: list[TyperOption] = []
        for option in self.field_options():
            (others if option.rich_help_panel else first).append(option)
        return [*first, *super().get_params(ctx), *others]


class ReadingCommand(FieldCommand):
    """A command that reads a table, with the options of `ReadingOptions`."""

    def field_options(self) -> list[TyperOption]:
        """Return an option for each option of reading."""
        from flower_pansvm.constraints import setting_fields  # noqa: PLC0415
        from flower_pansvm.reading_options import ReadingOptions  # noqa: PLC0415

        panel = "How the file is written"
        return [
            field_option(key, option, panel, "") for key, option in setting_fields(ReadingOptions).items()
        ]


def field_option(
    key: str, option: "Field[Any]", panel: str | None, default: str, of: str = ""
) -> TyperOption:
    """Return the option of a declared field; `given` returns what was typed."""

    def keep(context: typer.Context, _: Any, values: tuple[str, ...]) -> None:
        if values:
            context.meta.setdefault(_KEPT, {})[key] = values

    choices = option.metadata["constraint"].choices
    return TyperOption(
        param_decls=[f"--{key}"],
        type=str,
        multiple=True,
        expose_value=False,
        callback=keep,
        metavar=f"[{'|'.join(choices)}]" if choices else "VALUE",
        help=option.metadata["meaning"] + of,
        show_default=default or False,
        rich_help_panel=panel,
    )


def given(context: typer.Context, set_: Iterable[str] = ()) -> Given:
    """Return what the options that are made of fields, and ``--set``, have given.

    SettingError if a text of ``--set`` has no ``=``, or sets what only an option of the command's may.
    """
    kept: dict[str, tuple[str, ...]] = dict(context.meta.get(_KEPT, {}))
    for key, value in assignments(set_):
        if key in OF_COMMANDS:
            raise SettingError(f"--set {key}={value} would change what --{key} is for. Give only --{key}.")
        kept[key] = (*kept.get(key, ()), value)
    return kept


def assignments(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return key and value of each KEY=VALUE; SettingError if a text has no ``=``."""
    pairs = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise SettingError(
                f"--set {text} has no '='. Write it as --set KEY=VALUE, for instance --set C=10."
            )
        pairs.append((key.strip(), value.strip()))
    return pairs


def single(texts: Given) -> dict[str, str]:
    """Return the value of each key; the parts of a list are put together.

    SettingError if another key is given twice: which one counts would be a guess.
    """
    twice = [key for key, values in texts.items() if len(values) > 1 and key not in LISTS]
    if twice:
        raise SettingError(
            f"{twice[0]} is given more than once. Give it once; several values, where it takes them, stand in one: "
            "--C 1,10."
        )
    return {key: ",".join(values) for key, values in texts.items()}


def together(given: list[str] | None) -> str:
    """Return what an option has listed, which may be given several times, as one list."""
    return ",".join(given or [])


def check_file(path: Path, overwrite: bool, *read: Path) -> None:
    """Check that a file can be written, and make its folder.

    SettingError if it exists and is not to be written over, is a folder or one of the files that the command reads,
    or its folder cannot be written to.
    """
    if path.is_dir():
        raise SettingError(f"--out {path} is a folder. Name a file in it.")
    if path.exists() and not overwrite:
        raise SettingError(f"{path} exists. Choose another --out, or give --overwrite to write over it.")
    if path.exists() and any(source.exists() and path.samefile(source) for source in read):
        raise SettingError(
            f"--out {path} is a file that this command reads, and would be lost. Name another."
        )
    _check_writable(path, path.absolute().parents)
    path.parent.mkdir(parents=True, exist_ok=True)


def check_can_be_folder(path: Path) -> None:
    """Check that a path is a folder that can be written to, or can become one; SettingError if not.

    UnicodeEncodeError if its name is no UTF-8, as the results, which have it, are.
    """
    str(path.absolute()).encode()
    if path.exists() and not path.is_dir():
        raise SettingError(f"--out {path} is a file. Name a folder, which need not exist.")
    if path.is_symlink() and not path.exists():
        raise SettingError(f"--out {path} is a link to nothing. Remove it, or choose another --out.")
    _check_writable(path, [path, *path.absolute().parents])


def _check_writable(path: Path, folders: Sequence[Path]) -> None:
    """Check that the first of some folders that exists can be written to."""
    folder = next(parent for parent in folders if parent.exists())
    if not folder.is_dir():
        raise SettingError(
            f"--out {path} is invalid: {folder} is a file, not a folder. Choose another --out."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SettingError(
            f"The folder {folder} cannot be written to. Choose another --out, or ask for the permission to write there."
        )
