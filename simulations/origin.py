"""The origin of a figure: commit, date, and package versions."""

import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from strategies.results import versions


def commit() -> str | None:
    """Return the commit of this checkout, marked if it has changes; None outside of a checkout."""
    command = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


COMMIT = commit()
"""Taken when the measurement starts; the checkout may change before it ends."""


def versions_text(versions: Mapping[str, str]) -> str:
    """Return names and versions on one line."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def origin() -> dict[str, Any]:
    """Return commit, date and versions, ready for JSON."""
    return {
        "commit": COMMIT,
        "date": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}",
        "versions": {"python": platform.python_version(), **versions()},
    }
