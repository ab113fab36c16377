"""Feature selection: sums over the support vectors of each side, and over the rows of each class."""

from collections.abc import Sequence

import numpy as np

from flower_pansvm.systems.selection import SUPPORT
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


def figures(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:  # noqa: ARG001
    """Return the fewest support vectors of a side; nothing for a run without sums over them."""
    counts = [entry.sums["count"].ravel() for entry in transcript if entry.task == SUPPORT.name]
    if not counts:
        return {}
    some = np.concatenate(counts)
    return {"fewest_support_vectors": int(some[some > 0].min()) if some.any() else None}
