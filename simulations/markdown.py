"""Measured figures in Markdown: a table of them, and a line that says on which machine and when."""

import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime


def machine() -> str:
    """Return one line on where and when this was measured."""
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC on {os.cpu_count()} cores ({platform.machine()}, "
        f"Python {platform.python_version()}); load average over 1, 5 and 15 minutes at the end: {load}."
    )


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is left-aligned, the others right-aligned."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
