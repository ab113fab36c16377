"""Feature selection: sums over the support vectors of each side, and over the rows of each class."""

from collections.abc import Sequence

import numpy as np

from flower_pansvm.systems.selection import SUPPORT
from simulations.data.simulated_sites import SimulatedSites
from simulations.systems.system import SYSTEMS, Figures, SystemWords
from strategies.federation.transcript import TranscriptSum


@SYSTEMS.register("selection")
class SelectionWords(SystemWords):
    """A sum over one support vector is that row. Classes are counted with the moments of scaling."""

    words = {  # noqa: RUF012
        "class_moments": (
            "For each column and class how many cells are filled, their sum and the sum of their squares",
            "to rank the columns",
        ),
        "support": ("Sums over patients near the border between classes", "to rank the columns"),
    }
    examined = ("class_moments", "support")
    texts = {  # noqa: RUF012
        "fewest_support_vectors": (
            "{} rows in the smallest sum over support vectors",
            "no support vector on any side",
        )
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:  # noqa: ARG002
        """Return the fewest support vectors of a side; nothing of a run without sums over them."""
        counts = [one.sums["count"].ravel() for one in transcript if one.task == SUPPORT.name]
        if not counts:
            return {}
        some = np.concatenate(counts)
        return {"fewest_support_vectors": int(some[some > 0].min()) if some.any() else None}
