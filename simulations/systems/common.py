"""What all systems share: joining, scaling, scores of a model on folds and test rows."""

from collections.abc import Sequence

import numpy as np

from flower_pansvm.systems.common import MOMENTS, ROWS, SCORES
from simulations.data.simulated_sites import SimulatedSites
from simulations.systems.system import SYSTEMS, Figures, SystemWords
from strategies.federation.transcript import TranscriptSum


@SYSTEMS.register("common")
class CommonWords(SystemWords):
    """Names and keys are about no row. A sum over one row is that row.

    A row that is alone in a bin of a histogram gives away its class, and its decision value as finely as the bin.
    """

    words = {  # noqa: RUF012
        "join": (
            "Name, version and public keys of the site, names of its columns and of its classes",
            "to agree on common columns and classes, and to mask what follows",
        ),
        "moments": (
            "For each column how many cells are filled, their sum and the sum of their squares; patients of each class",
            "to bring all columns to the same scale",
        ),
        "rows": ("Patients of each class", "to count again after a site was lost"),
        "extremes": (
            "Smallest and largest cell of each column",
            "to bring all columns to the range from -1 to 1",
        ),
        "scores": (
            "Test patients by class and predicted class, and how many decision values lie in each of 512 bins",
            "to say how good the model is",
        ),
    }
    examined = ("join", "moments", "rows", "scores")
    texts = {  # noqa: RUF012
        "fewest_rows": ("{} rows in the smallest sum over a class", "no sum over a class has left"),
        "alone_in_bins": (
            "{} times a row was alone in a bin of a histogram of decision values",
            "no histogram of decision values has left",
        ),
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:  # noqa: ARG002
        """Return the rows of the smallest class of a fold, and how many bins of all histograms hold one row."""
        rows = [one.sums["rows"].ravel() for one in transcript if one.task in {MOMENTS.name, ROWS.name}]
        histograms = [one.sums["histogram"].ravel() for one in transcript if one.task == SCORES.name]
        counts = np.concatenate([np.empty(0), *rows])
        found: dict[str, int | None] = {}
        if rows:
            found["fewest_rows"] = int(counts[counts > 0].min(initial=np.inf)) if counts.any() else None
        if histograms:
            found["alone_in_bins"] = int(np.count_nonzero(np.concatenate(histograms) == 1))
        return found
