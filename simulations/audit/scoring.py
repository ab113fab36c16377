"""Scores: counts of rows by class and decision value, of folds and of test rows."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from flower_pansvm.systems.pan_svm.tasks import SCORES
from simulations.audit.phase import PHASES, Phase
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


@PHASES.register("scoring")
class ScoringAudit(Phase):
    """A row that is alone in a bin of a histogram gives away its class, and its decision value as finely as the bin."""

    tasks = (SCORES.name,)
    texts: ClassVar[Mapping[str, tuple[str, str]]] = {
        "alone_in_bins": (
            "{} times a row was alone in a bin of a histogram of decision values",
            "no histogram of decision values has left",
        )
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> dict[str, int | None]:  # noqa: ARG002
        """Return how many bins of all histograms hold one row; nothing of a run without them."""
        histograms = [one.sums["histogram"] for one in transcript if one.task == SCORES.name]
        if not histograms:
            return {}
        return {"alone_in_bins": sum(int(np.count_nonzero(counts == 1)) for counts in histograms)}
