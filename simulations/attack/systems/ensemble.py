"""Ensemble voting: test rows that all hospitals receive. The votes are not examined."""

from collections.abc import Sequence

from flower_pansvm.systems.ensemble import ENSEMBLE_SCORES
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


def figures(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:  # noqa: ARG001
    """Return the number of test rows that all sites receive; nothing for a run without an ensemble."""
    entries = [entry for entry in transcript if entry.task == ENSEMBLE_SCORES.name]
    rows = [len(entry.question(ENSEMBLE_SCORES).predicted) for entry in entries]
    return {"rows_shown": rows[0] or None} if entries else {}
