"""What the report and the audit say of a system: one file a system in this package, each with its ``WORDS``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

EXACT_SUMS = (
    "The coordinator was sent exact sums over true records, many times. Single patients’ records can be computed from "
    "these, though not whose they are: treat what it has received as patients’ data."
)


@dataclass(frozen=True)
class SystemWords:
    """What is said of a system."""

    # For each of the system's tasks what leaves a site, and what for.
    words: Mapping[str, tuple[str, str]]
    # Tasks that the audit has looked at. All others are reported as not examined.
    examined: tuple[str, ...] = ()
    # Tasks whose exact sums are counts, or too few to compute a record from. Any other brings the caution.
    few_sums: tuple[str, ...] = ()
    # What a reader is to keep in mind if exact sums over true records have left.
    caution: str = EXACT_SUMS
    # For each figure of the audit a sentence with ``{}`` for its value, and one for when there is none.
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict)


SYSTEMS = (
    "admm",
    "common",
    "dp_svm",
    "ensemble",
    "evaluation",
    "local_only",
    "mixture",
    "output_perturbation",
    "pan_svm",
    "random_kernel",
    "scaling",
    "selection",
    "ssvd",
)
"""The systems that have a file here."""


def every_system() -> dict[str, SystemWords]:
    """Return the words of each system, by the name of its file."""
    return {name: resolve_name(f"strategies.report.words.{name}:WORDS") for name in SYSTEMS}


def words_of_tasks() -> dict[str, tuple[str, str]]:
    """Return the disclosed values and their purpose of each task of all systems."""
    return {task: words for system in every_system().values() for task, words in system.words.items()}


def cautions_of_sums(exact: set[str], systems: Mapping[str, SystemWords]) -> list[str]:
    """Return the cautions of some tasks' exact sums over true records; a task that no system names has one, too."""
    texts = [s.caution for s in systems.values() if exact & (s.words.keys() - {*s.few_sums})]
    unknown = exact - {task for s in systems.values() for task in s.words}
    return list(dict.fromkeys([*texts, *([EXACT_SUMS] if unknown else [])]))


def sentences(entries: Mapping[str, Any]) -> list[str]:
    """Return the systems' sentences for the entry ``audit`` of a ``result.json``, one a figure."""
    texts = {name: text for system in every_system().values() for name, text in system.texts.items()}
    return [
        none if entries[name] is None else some.format(entries[name])
        for name, (some, none) in texts.items()
        if name in entries
    ]
