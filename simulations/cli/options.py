"""Options that are made of declared fields, settings or options of reading, and ``--set KEY=VALUE``."""

from collections.abc import Iterable, Mapping
from dataclasses import Field, fields
from functools import cache
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperOption

from flower_pansvm.errors import SettingError

Given = Mapping[str, tuple[str, ...]]
"""What was typed, by key; several values if an option was given several times."""

Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Another way to write --KEY VALUE, for any setting."),
]

USUAL = (
    *("data", "label", "schema", "strategy", "sites", "split", "seed"),
    *("privacy", "noise", "kernel", "C", "gamma", "landmarks"),
)
"""Settings that come first in the help, as most people look for one of these."""

LISTS = ("drop", "positive")
"""Settings that are lists: given several times, their parts are put together."""

OF_COMMANDS = ("out", "resume", "audit")
"""Settings of which a command has to know: it declares the option itself, or has none."""

_KEPT = "simulations.cli.options"


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
        from flower_pansvm.constraints import key_of  # noqa: PLC0415
        from flower_pansvm.reading_options import ReadingOptions  # noqa: PLC0415

        panel = "How the file is written"
        return [_option(key_of(one.name), one, panel, "") for one in fields(ReadingOptions)]


class SettingsCommand(FieldCommand):
    """A command that trains, with an option for every setting but those ``without``, for which it has others."""

    without: ClassVar[tuple[str, ...]] = OF_COMMANDS

    def field_options(self) -> list[TyperOption]:
        """Return an option for each setting, the usual ones first."""
        return [option for key, option in _setting_options().items() if key not in self.without]


@cache
def _setting_options() -> dict[str, TyperOption]:
    # Strategies take seconds to import; `pansvm --help` should not wait for them.
    from flower_pansvm.secure_sum import PROTOCOLS  # noqa: PLC0415
    from strategies.settings import Settings, all_settings, default_config, owners, setting_fields  # noqa: PLC0415
    from strategies.svm_settings import PanSvmSettings  # noqa: PLC0415

    known, usual = all_settings(), default_config()
    every, svm = {"aggregation", *setting_fields(Settings)}, setting_fields(PanSvmSettings)

    def panel(key: str) -> str | None:
        if key in USUAL:
            return None
        if key in every:
            return "Other settings of every run"
        if key in svm:
            return "Other settings of SVMs"
        single = "secure sums" if set(owners(key)) <= PROTOCOLS.keys() else "strategies"
        return f"Settings of single {single}"

    found = {}
    for key in sorted(known, key=lambda key: (key not in USUAL, key not in every, key not in svm)):
        place, default = panel(key), usual[key]
        of = f" ({', '.join(owners(key))})" if place and place.startswith("Settings of single") else ""
        text = str(default).lower() if isinstance(default, bool) else str(default)
        found[key] = _option(key, known[key], place, text, of)
    return found


def _option(key: str, one: "Field[Any]", panel: str | None, default: str, of: str = "") -> TyperOption:
    def keep(context: typer.Context, _: Any, values: tuple[str, ...]) -> None:
        if values:
            context.meta.setdefault(_KEPT, {})[key] = values

    choices = one.metadata["constraint"].choices
    return TyperOption(
        param_decls=[f"--{key}"],
        type=str,
        multiple=True,
        expose_value=False,
        callback=keep,
        metavar=f"[{'|'.join(choices)}]" if choices else "VALUE",
        help=one.metadata["meaning"] + of,
        show_default=default or False,
        rich_help_panel=panel,
    )


def given(context: typer.Context, set_: Iterable[str] = ()) -> Given:
    """Return what the options that are made of fields, and ``--set``, have given.

    SettingError if a text of ``--set`` has no ``=``, or sets what only an option of the command's may.
    """
    found: dict[str, tuple[str, ...]] = dict(context.meta.get(_KEPT, {}))
    for key, value in assignments(set_):
        if key in OF_COMMANDS:
            raise SettingError(f"--set {key}={value} would change what --{key} is for. Give only --{key}.")
        found[key] = (*found.get(key, ()), value)
    return found


def assignments(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return key and value of each KEY=VALUE; SettingError if a text has no ``=``."""
    found = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise SettingError(
                f"--set {text} has no '='. Write it as --set KEY=VALUE, for instance --set C=10."
            )
        found.append((key.strip(), value.strip()))
    return found


def single(found: Given) -> dict[str, str]:
    """Return the value of each key; the parts of a list are put together.

    SettingError if another key is given twice: which one counts would be a guess.
    """
    twice = [key for key, values in found.items() if len(values) > 1 and key not in LISTS]
    if twice:
        raise SettingError(f"{twice[0]} is given more than once. Give it once.")
    return {key: ",".join(values) for key, values in found.items()}
