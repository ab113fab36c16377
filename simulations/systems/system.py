"""What the audit and the report know of a system: its tasks in words, and what its answers give away."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from flower_pansvm.registry import Registry, import_modules
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum

Figures = Mapping[str, float | None]


class SystemWords:
    """Base of the systems. A subclass registers in `SYSTEMS` under the system's name.

    Attributes
    ----------
    words : mapping of str to tuple
        For each of the system's tasks what leaves a site, and what for.
    examined : tuple of str
        Names of the tasks that the audit has looked at. All others are reported as not examined.
    texts : mapping of str to tuple
        For each figure a sentence with ``{}`` for its value, and one for when there is none.
    """

    words: ClassVar[Mapping[str, tuple[str, str]]]
    examined: ClassVar[tuple[str, ...]]
    texts: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:  # noqa: ARG002
        """Return what the system's answers give away, by name; None for nothing there.

        The simulated sites know the truth, which the coordinator does not.
        """
        return {}


SYSTEMS: Registry[type[SystemWords]] = Registry("system")
"""The systems by their name."""


def every_system() -> list[SystemWords]:
    """Return all systems, in the order of their names."""
    import_modules(__package__ or "")
    return [kind() for kind in SYSTEMS.values()]


def words_of_tasks() -> dict[str, tuple[str, str]]:
    """Return for each task of all systems what leaves a site, and what for."""
    return {task: words for system in every_system() for task, words in system.words.items()}


def sentences(entries: Mapping[str, Any]) -> list[str]:
    """Return what the systems say in the entry ``audit`` of a ``result.json``, a sentence a figure."""
    texts = {name: text for system in every_system() for name, text in system.texts.items()}
    return [
        none if entries[name] is None else some.format(entries[name])
        for name, (some, none) in texts.items()
        if name in entries
    ]
