"""What the audit counts in systems' answers, held against the truth of simulated sites: ``figures`` of each file here.

The figures have the names for which the system's words have texts (`strategies.report.words`).
"""

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name

from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum

Figures = Mapping[str, float | None]
"""What a system's answers give away, by name; None for nothing there."""


AUDITS = (
    "ensemble",
    "mixture",
    "pan_svm",
    "random_kernel",
    "scaling",
    "selection",
    "ssvd",
)
"""The systems that have a file here."""


def every_audit() -> dict[str, Callable[[SimulatedSites, Sequence[TranscriptSum]], Figures]]:
    """Return what counts each system's figures, by the name of its file; not every system has one."""
    return {name: resolve_name(f"simulations.attack.systems.{name}:figures") for name in AUDITS}
