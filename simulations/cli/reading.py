"""Options of every command that reads a table: those of `ReadingOptions`, each by its key."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any

import typer

from flower_pansvm.reading_options import ReadingOptions
from flower_pansvm.setting_values import key_of

Reading = Mapping[str, str]
"""What was said, by key."""


def with_reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameter ``reading`` is what its options say of how a file is written."""
    names = {one.name: one for one in fields(ReadingOptions)}

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        reading = {key_of(name): given.pop(name) for name in names}
        command(**given, reading=reading)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name != "reading":
            parameters.append(parameter)
            continue
        parameters += [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default="",
                annotation=Annotated[
                    str, typer.Option(f"--{key_of(name)}", help=one.metadata["meaning"], show_default=False)
                ],
            )
            for name, one in names.items()
        ]
    with_options.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    )
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options
