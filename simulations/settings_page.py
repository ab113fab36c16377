"""``docs/settings.md``, a page of all settings; ``python -m simulations.settings_page`` writes it."""

from pathlib import Path

from simulations.settings_table import COLUMNS, groups, rows

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"

HEAD = """\
<!-- Written by `python -m simulations.settings_page` from the settings themselves: change them, not this file. -->

# Every setting

On the command line a setting is an option, `--C 10`, or `--set C=10`. For `flwr run` it is a key of the run config,
`--run-config "C=10 gamma='0.05'"`. In Python `-` is written `_`:
`make_settings(cv_folds=3)`. `pansvm settings` prints what is on this page, `pansvm settings svm-rfe` the settings of
one strategy. A setting that the run's strategy does not have is refused unless it is at its default.

What a hospital sets for itself is its [node config](deployment.md#what-runs-where).
"""


def page() -> str:
    """Return the page: a table of settings for each group of strategies or secure sums that share them."""
    parts = [HEAD]
    for title, settings in groups(None).items():
        lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
        for key, default, may_be, meaning in rows(settings):
            lines.append(_line([f"`{key}`", f"`{default}`" if default else "", may_be, meaning]))
        parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
