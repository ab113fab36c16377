"""Scaling: a sum over one row is that row."""

from collections.abc import Sequence

import numpy as np

from flower_pansvm.systems.scaling import MOMENTS, ROWS
from simulations.data.simulated_sites import SimulatedSites
from simulations.systems.system import SYSTEMS, Figures, SystemWords
from strategies.federation.transcript import TranscriptSum


@SYSTEMS.register("scaling")
class ScalingWords(SystemWords):
    """The ends of columns, disclosed by simulated sites only, are single cells; the result says so."""

    words = {  # noqa: RUF012
        "moments": (
            "For each column how many cells are filled, their sum and the sum of their squares; patients of each class",
            "to bring all columns to the same scale",
        ),
        "rows": ("Patients of each class", "to count again after a site was lost"),
        "extremes": (
            "Smallest and largest cell of each column",
            "to bring all columns to the range from -1 to 1",
        ),
        "ranges": (
            "Smallest and largest cell of each column of simulated sites",
            "to stand for public ranges",
        ),
    }
    examined = ("moments", "rows", "ranges")
    texts = {  # noqa: RUF012
        "fewest_rows": ("{} rows in the smallest sum over a class", "no sum over a class has left"),
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:  # noqa: ARG002
        """Return the rows of the smallest class of a fold; nothing of a run that counts none."""
        rows = [one.sums["rows"].ravel() for one in transcript if one.task in {MOMENTS.name, ROWS.name}]
        if not rows:
            return {}
        counts = np.concatenate(rows)
        return {"fewest_rows": int(counts[counts > 0].min()) if counts.any() else None}
