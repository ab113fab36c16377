"""``docs/settings.md``, the table of all settings: ``python -m simulations.settings_page`` writes the page."""

from collections.abc import Mapping
from dataclasses import Field
from pathlib import Path
from typing import Any

from flower_pansvm.constraints import one_of, setting_fields
from flower_pansvm.secure_sum.registry import PROTOCOLS
from simulations.markdown import markdown
from strategies.registry import STRATEGIES
from strategies.settings import Settings, all_settings, default_config, owners

COLUMNS = ("setting", "default", "may be", "meaning")

BRIEFER = (
    ("a whole number", "integer"), ("a number", "number"), ("a text", "text"), ("one of ", ""),
    (", separated by commas", ", comma-separated"), (" of at least ", " ≥ "), (" and at most ", ", ≤ "),
    (" and below ", ", < "), (" above ", " > "),
)  # fmt: skip
"""Abbreviations of the page for the values of a setting."""

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"

HEAD = """\
<!-- Written by `python -m simulations.settings_page` from the settings themselves: change them, not this file. -->

# Settings

On the command line a setting is an option, `--C 10`, or `--set C=10`. For `flwr run` it is a key of the run config,
`--run-config "C=10 gamma='0.05'"`. In Python `-` is written `_`: `make_settings(cv_folds=3)`.
A setting that the run's strategy does not have is refused unless it is at its default.
Hospitals have a [node config](node-configuration.md).
"""


def rows(settings: Mapping[str, "Field[Any]"]) -> list[tuple[str, ...]]:
    """Return a row of :data:`COLUMNS` and the owners for each setting."""
    usual = default_config()
    named = {"strategy": list(STRATEGIES), "aggregation": list(PROTOCOLS)}
    lines: list[tuple[str, ...]] = []
    for key, field in settings.items():
        default = usual[key]
        text = str(default).lower() if isinstance(default, bool) else str(default)
        may_be = one_of(*named[key]) if key in named else field.metadata["constraint"]
        cells = (f"`{key}`", f"`{text}`" if text else "", _brief(may_be.description))
        lines.append((*cells, field.metadata["meaning"], _owners(key)))
    return lines


def _owners(key: str) -> str:
    """Return the strategies or secure sums of a setting; all selections under one name."""
    names, selections = set(owners(key)), set(owners("features"))
    return ", ".join(sorted(names - selections | {"selections"} if names >= selections else names))


def page() -> str:
    """Return the page: a table of the settings of every run, and one of those of strategies and secure sums."""
    common = {"aggregation", *setting_fields(Settings)}
    settings = all_settings()
    of_all = rows({key: field for key, field in settings.items() if key in common})
    of_some = rows({key: field for key, field in settings.items() if key not in common})
    selections = ", ".join(f"`{name}`" for name in owners("features"))
    return "\n".join(
        [
            HEAD,
            "## Every run\n",
            markdown(COLUMNS, [row[:-1] for row in of_all], "---"),
            f"## Strategies and secure sums\n\n*Selections* are {selections}.\n",
            markdown((*COLUMNS, "of"), of_some, "---"),
        ]
    )


def _brief(may_be: str) -> str:
    for long, short in BRIEFER:
        may_be = may_be.replace(long, short)
    return may_be


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
