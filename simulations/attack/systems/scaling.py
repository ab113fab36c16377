"""Scaling: a sum over one row is that row."""

from collections.abc import Sequence

import numpy as np

from flower_pansvm.systems.scaling import MOMENTS, ROWS
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


def figures(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:  # noqa: ARG001
    """Return the rows of the smallest class of a fold; nothing for a run without such counts."""
    rows = [entry.sums["rows"].ravel() for entry in transcript if entry.task in {MOMENTS.name, ROWS.name}]
    if not rows:
        return {}
    counts = np.concatenate(rows)
    return {"fewest_rows": int(counts[counts > 0].min()) if counts.any() else None}
