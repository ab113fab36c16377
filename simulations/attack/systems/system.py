"""The audit's figures of systems, compared with the truth of simulated sites: ``figures`` of each file here.

The figures have the names for which the system's words have texts (`strategies.report.words`).
"""

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name

from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum

Figures = Mapping[str, float | None]
"""Figures by name; None for nothing found."""


AUDITS = ("ensemble", "evaluation", "mixture", "pan_svm", "random_kernel", "scaling", "selection", "ssvd")
"""The systems with a file here."""


def every_audit() -> dict[str, Callable[[SimulatedSites, Sequence[TranscriptSum]], Figures]]:
    """Return the function ``figures`` of each system by the name of its file."""
    return {name: resolve_name(f"simulations.attack.systems.{name}:figures") for name in AUDITS}
