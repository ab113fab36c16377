"""The options of commands that train: one for every setting."""

from collections.abc import Mapping
from copy import copy
from functools import cache
from typing import Annotated, ClassVar

import typer
from typer.core import TyperOption

from flower_pansvm.command_line import OF_COMMANDS, FieldCommand, field_option

USUAL = (
    *("data", "label", "schema", "strategy", "sites", "split", "seed"),
    *("privacy", "noise", "kernel", "C", "gamma", "landmarks", "by"),
)
"""Settings that come first in the help."""

Cluster = Annotated[
    str,
    typer.Option(
        envvar="RAY_ADDRESS",
        help="A Ray cluster's address, HOST:PORT: runs are its tasks.",
        show_default=False,
    ),
]


def remote(cluster: str) -> str:
    """Return the address of a cluster; empty if Ray's variable is ``local``."""
    return "" if cluster == "local" else cluster


class SettingsCommand(FieldCommand):
    """A command that trains, with an option for every setting except those of ``without``.

    The help says ``other_defaults`` where the command's own are not the settings'.
    """

    without: ClassVar[tuple[str, ...]] = OF_COMMANDS
    other_defaults: ClassVar[Mapping[str, str]] = {}

    def field_options(self) -> list[TyperOption]:
        """Return an option for each setting, the usual ones first."""
        options = {key: option for key, option in _setting_options().items() if key not in self.without}
        for key, default in self.other_defaults.items():
            options[key] = copy(options[key])
            options[key].show_default = default
        return list(options.values())


@cache
def _setting_options() -> dict[str, TyperOption]:
    # Imports of seconds, for which `pansvm --help` should not wait.
    from flower_pansvm.constraints import setting_fields  # noqa: PLC0415
    from flower_pansvm.secure_sum.registry import PROTOCOLS  # noqa: PLC0415
    from strategies.settings import Settings, all_settings, default_config, owners  # noqa: PLC0415
    from strategies.svm_settings import PanSvmSettings  # noqa: PLC0415

    settings, defaults = all_settings(), default_config()
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

    options = {}
    for key in sorted(settings, key=lambda key: (key not in USUAL, key not in every, key not in svm)):
        heading, default = panel(key), defaults[key]
        of = f" ({', '.join(owners(key))})" if heading and heading.startswith("Settings of single") else ""
        text = str(default).lower() if isinstance(default, bool) else str(default)
        options[key] = field_option(key, settings[key], heading, text, of)
    return options
