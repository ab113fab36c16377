"""The settings that there are, for a person: what ``pansvm settings`` prints."""

from collections.abc import Iterable
from dataclasses import Field
from typing import Any

from rich.table import Table

from flower_pansvm.setting_values import key_of
from strategies.registry import all_strategies
from strategies.settings import Settings, all_settings, default_config, owners, setting_fields


def groups(strategy: str | None) -> dict[str, list["Field[Any]"]]:
    """Return settings by a title that says whose they are: those of a strategy, or of all.

    Raises
    ------
    SettingError
        If there is no such strategy.
    """
    chosen = all_settings() if strategy is None else _own(strategy)
    common = setting_fields(Settings)
    found: dict[str, list[Field[Any]]] = {"Every run": []}
    for key, one in chosen.items():
        title = "Every run" if one.name in common else f"Of {', '.join(owners(key))}"
        found.setdefault(title, []).append(one)
    return found


def table(title: str, settings: Iterable["Field[Any]"]) -> Table:
    """Return name, default, what it may be and meaning of settings."""
    usual = default_config()
    found = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for name in ("setting", "default", "may be", "meaning"):
        found.add_column(name, overflow="fold", no_wrap=name == "setting")
    for one in settings:
        key = key_of(one.name)
        default = usual[key]
        text = str(default).lower() if isinstance(default, bool) else str(default)
        found.add_row(key, text, one.metadata["kind"].must_be, one.metadata["meaning"])
    return found


def _own(strategy: str) -> dict[str, "Field[Any]"]:
    fields = setting_fields(all_strategies()[strategy].settings_class)
    return {key_of(name): one for name, one in fields.items()}
