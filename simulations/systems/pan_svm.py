"""PAN-SVM: how many rows are behind each landmark. What its sums give away says the attack."""

from collections.abc import Sequence

import numpy as np

from clients.systems.pan_svm import own_centres
from flower_pansvm.systems.pan_svm.tasks import LANDMARKS, SCORES
from simulations.data.simulated_sites import SimulatedSites
from simulations.systems.system import SYSTEMS, Figures, SystemWords
from strategies.federation.transcript import TranscriptSum


@SYSTEMS.register("pan-svm")
class PanSvmWords(SystemWords):
    """A centre is a mean of rows: of few rows it is close to each of them.

    A row that is alone in a bin of a histogram gives away its class, and its decision value as finely as the bin.

    How many rows Hessians determine is counted whatever the system (`simulations.attack.audit`).
    """

    words = {  # noqa: RUF012
        "landmarks": (
            "Centres of groups of similar patients",
            "to have points to which the model compares patients",
        ),
        "warm_start": ("The site’s own weights of the model", "to begin training near the end"),
        "cuts": (
            "Sums over patients near the border between classes, for each weights that were asked about",
            "to find the best weights",
        ),
        "scores": (
            "Test patients by class and predicted class, and how many decision values lie in each of 512 bins",
            "to say how good the model is",
        ),
    }
    examined = ("landmarks", "cuts", "scores")
    texts = {  # noqa: RUF012
        "smallest_cluster": ("smallest cluster {} rows", "no landmark is a mean of rows"),
        "alone_in_bins": (
            "{} times a row was alone in a bin of a histogram of decision values",
            "no histogram of decision values has left",
        ),
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:
        """Return the fewest rows of one site behind a centre, and how many bins of histograms hold one row."""
        sizes: list[int] = []
        for one in transcript:
            if one.task == LANDMARKS.name:
                question = one.question(LANDMARKS)
                for site in sites.before(one):
                    if site.name in one.sites:
                        for number in range(len(question.folds)):
                            counts = own_centres(site, question, number)[1]
                            sizes += counts[counts > 0].tolist()
        found: dict[str, int | None] = {"smallest_cluster": int(min(sizes)) if sizes else None}
        histograms = [one.sums["histogram"].ravel() for one in transcript if one.task == SCORES.name]
        if histograms:
            found["alone_in_bins"] = int(np.count_nonzero(np.concatenate(histograms) == 1))
        return found
