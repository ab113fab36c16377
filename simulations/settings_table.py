"""The settings that there are, for a person: what ``pansvm settings`` prints and ``docs/settings.md`` holds."""

from collections.abc import Mapping
from dataclasses import Field
from typing import Any

from rich.table import Table

from flower_pansvm.constraints import one_of
from flower_pansvm.secure_sum import protocol_names
from strategies.registry import all_strategies
from strategies.settings import Settings, all_settings, default_config, owners, setting_fields

COLUMNS = ("setting", "default", "may be", "meaning")


def groups(strategy: str | None) -> dict[str, dict[str, "Field[Any]"]]:
    """Return settings by a title that says whose they are: with a strategy, its own and those of secure sums.

    Raises
    ------
    SettingError
        If there is no such strategy.
    """
    lacking = set() if strategy is None else _of_strategies() - set(setting_fields(_class_of(strategy)))
    common = {"aggregation", *setting_fields(Settings)}
    found: dict[str, dict[str, Field[Any]]] = {}
    for key, one in all_settings().items():
        title = "Every run" if key in common else _title(owners(key))
        if key not in lacking:
            found.setdefault(title, {})[key] = one
    return found


def table(title: str, settings: Mapping[str, "Field[Any]"]) -> Table:
    """Return name, default, what it may be and meaning of settings."""
    found = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        found.add_column(name, overflow="fold", no_wrap=name == "setting")
    for row in rows(settings):
        found.add_row(*row)
    return found


def rows(settings: Mapping[str, "Field[Any]"]) -> list[tuple[str, str, str, str]]:
    """Return of each setting what :data:`COLUMNS` names."""
    usual = default_config()
    named = {"strategy": list(all_strategies()), "aggregation": protocol_names()}
    found = []
    for key, one in settings.items():
        default = usual[key]
        text = str(default).lower() if isinstance(default, bool) else str(default)
        may_be = one_of(*named[key]) if key in named else one.metadata["constraint"]
        found.append((key, text, may_be.description, one.metadata["meaning"]))
    return found


def _title(names: list[str]) -> str:
    kind = "Secure sums" if set(names) <= set(protocol_names()) else "Strategies"
    return f"{kind}: {', '.join(names)}"


def _of_strategies() -> set[str]:
    return {key for strategy in all_strategies() for key in setting_fields(_class_of(strategy))}


def _class_of(strategy: str) -> type[Settings]:
    return all_strategies()[strategy].settings_class
