"""Which of two versions of this project is the older, and whether every site's is new enough for a task."""

from collections.abc import Mapping
from typing import Any

from flower_pansvm.errors import FederationError
from flower_pansvm.tasks import Task
from strategies.federation.envelope import Contact


def check_versions(sites: Mapping[str, Contact], task: Task[Any, Any]) -> None:
    """Check that each site's version has a task, before any site is asked.

    Raises
    ------
    FederationError
        If one has not.
    """
    for name, site in sites.items():
        if is_older(site.version, than=task.since):
            raise FederationError(
                f"Site '{name}' runs version {site.version} of flower-pansvm, but task '{task.name}' is there from "
                f"{task.since} on. Update the hospital's installation, or choose another strategy."
            )


def is_older(version: str, than: str) -> bool:
    """Tell whether a version is older than another; one that cannot be read is older than all.

    Examples
    --------
    >>> is_older("0.9.1", than="0.10.0"), is_older("1.0", than="1.0")
    (True, False)
    """
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 10 for part in parts) else ()
