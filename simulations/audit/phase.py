"""What the audit knows of one phase: which training rows are in which of its sums, and with what factor."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.registry import Registry, import_modules
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


@dataclass(frozen=True)
class Factors:
    """What each training row is multiplied by in sums that can be added to and subtracted from one another.

    Parameters
    ----------
    by_site : sequence of ndarray of shape (sums, rows)
        The factors at each site; zeros where it had no part in a sum.
    sums : mapping of str to int
        How many of these sums there are of each kind.
    of_rows : bool
        Whether the sums are about the rows themselves, or a linear map of them: then all such sums can be combined,
        whichever phase they are of.
    """

    by_site: Sequence[NDArray[np.float64]]
    sums: Mapping[str, int]
    of_rows: bool


class Phase:
    """Base of the phases. A subclass registers in `PHASES` under the phase's word.

    Attributes
    ----------
    tasks : tuple of str
        Names of the tasks whose results it has looked at. All others are reported as not examined.
    texts : mapping of str to tuple
        For each figure a sentence with ``{}`` for its value, and one for when there is none.
    """

    tasks: ClassVar[tuple[str, ...]]
    texts: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def factors(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Iterable[Factors]:  # noqa: ARG002
        """Yield the factors of the phase's sums; those of one yield are looked at together."""
        return ()

    def figures(
        self,
        sites: SimulatedSites,  # noqa: ARG002
        transcript: Sequence[TranscriptSum],  # noqa: ARG002
    ) -> Mapping[str, float | None]:
        """Return what else is worth knowing of the phase's sums, by name; None for nothing there."""
        return {}


PHASES: Registry[type[Phase]] = Registry("audit of a phase")
"""The phases by their word."""


def every_phase() -> list[Phase]:
    """Return all phases, in the order of their words."""
    import_modules("simulations.audit")
    return [kind() for kind in PHASES.values()]


def no_rows(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> list[list[NDArray[np.float64]]]:
    """Return for each site a list that begins with no sum over its training rows, to append to and stack."""
    return [[np.empty((0, len(site.train().classes)))] for site in sites.before(transcript[0])]
