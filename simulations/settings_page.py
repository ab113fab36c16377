"""``docs/settings.md``: the settings that there are; ``python -m simulations.settings_page`` writes the page."""

from collections.abc import Mapping
from dataclasses import Field
from pathlib import Path
from typing import Any

from flower_pansvm.constraints import one_of
from flower_pansvm.secure_sum import protocol_names
from strategies.registry import all_strategies
from strategies.settings import Settings, all_settings, default_config, owners, setting_fields

COLUMNS = ("setting", "default", "may be", "meaning")

BRIEFER = (
    ("a whole number", "integer"), ("a number", "number"), ("a text", "text"), ("one of ", ""),
    (", separated by", " by"), (" of at least ", " ≥ "), (" and at most ", ", ≤ "), (" and below ", ", < "),
    (" above ", " > "),
)  # fmt: skip
"""How the page shortens what a setting may be."""

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"

HEAD = """\
<!-- Written by `python -m simulations.settings_page` from the settings themselves: change them, not this file. -->

# Settings

On the command line a setting is an option, `--C 10`, or `--set C=10`. For `flwr run` it is a key of the run config,
`--run-config "C=10 gamma='0.05'"`. In Python `-` is written `_`: `make_settings(cv_folds=3)`.
A setting that the run's strategy
does not have is refused unless it is at its default. Hospitals have a [node config](node-configuration.md).
"""


def groups() -> dict[str, dict[str, "Field[Any]"]]:
    """Return all settings by a title that says whose they are."""
    common = {"aggregation", *setting_fields(Settings)}
    found: dict[str, dict[str, Field[Any]]] = {}
    for key, one in all_settings().items():
        title = "Every run" if key in common else _title(owners(key))
        found.setdefault(title, {})[key] = one
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


def page() -> str:
    """Return the page: a table of settings for each group of strategies or secure sums that share them."""
    parts = [HEAD]
    for title, settings in groups().items():
        lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
        for key, default, may_be, meaning in rows(settings):
            lines.append(_line([f"`{key}`", f"`{default}`" if default else "", _brief(may_be), meaning]))
        parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _brief(may_be: str) -> str:
    for long, short in BRIEFER:
        may_be = may_be.replace(long, short)
    return may_be


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
