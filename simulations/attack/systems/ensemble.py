"""Ensemble voting: test rows that all hospitals see, and counts of them. What the votes tell is not examined."""

from collections.abc import Sequence

from flower_pansvm.systems.ensemble import ENSEMBLE_SCORES
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


def figures(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:  # noqa: ARG001
    """Return how many test rows all sites see; nothing of a run without an ensemble."""
    asked = [one for one in transcript if one.task == ENSEMBLE_SCORES.name]
    rows = [len(one.question(ENSEMBLE_SCORES).predicted) for one in asked]
    return {"rows_shown": rows[0] or None} if asked else {}
