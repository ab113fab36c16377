"""What the report and the audit say of a system: one file a system in this folder, of the system's name."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

EXACT_SUMS = (
    "The coordinator was sent exact sums over true records, many times. Single patients’ records can be computed from "
    "these, though not whose they are: treat what it has received as patients’ data."
)


@dataclass(frozen=True)
class TaskWords:
    """What is said of a task."""

    leaves: str  # what leaves a site
    why: str  # what for
    examined: bool = False  # whether the audit has looked at it; all others are reported as not examined
    # Whether its exact sums are counts, or too few to compute a record from. Any other brings the caution.
    few_sums: bool = False


@dataclass(frozen=True)
class SystemWords:
    """What is said of a system."""

    tasks: Mapping[str, TaskWords]
    # What a reader is to keep in mind if exact sums over true records have left.
    caution: str = EXACT_SUMS
    # For each figure of the audit a sentence with ``{}`` for its value, and one for when there is none.
    figures: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@cache
def every_system() -> dict[str, SystemWords]:
    """Return the words of each system, by the name of its file."""
    systems = {}
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            words = tomllib.loads(file.read_text(encoding="utf-8"))
            tasks = {name: TaskWords(**entry) for name, entry in words["tasks"].items()}
            systems[file.name.removesuffix(".toml")] = SystemWords(**{**words, "tasks": tasks})
    return systems


def words_of_tasks() -> dict[str, TaskWords]:
    """Return the words of each task of all systems."""
    return {task: words for system in every_system().values() for task, words in system.tasks.items()}


def cautions_of_sums(exact: set[str], systems: Mapping[str, SystemWords]) -> list[str]:
    """Return the cautions of some tasks' exact sums over true records; a task that no system names has one, too."""
    texts = [
        system.caution
        for system in systems.values()
        if any(not words.few_sums for task, words in system.tasks.items() if task in exact)
    ]
    unknown = exact - {task for system in systems.values() for task in system.tasks}
    return list(dict.fromkeys([*texts, *([EXACT_SUMS] if unknown else [])]))


def sentences(entries: Mapping[str, Any]) -> list[str]:
    """Return the systems' sentences for the entry ``audit`` of a ``result.json``, one a figure."""
    figures = {name: text for system in every_system().values() for name, text in system.figures.items()}
    return [
        none if entries[name] is None else some.format(entries[name])
        for name, (some, none) in figures.items()
        if name in entries
    ]
