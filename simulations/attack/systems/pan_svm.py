"""PAN-SVM: how many rows are behind each landmark. What its sums give away says the attack."""

from collections.abc import Sequence

import numpy as np

from clients.systems.pan_svm import own_centres
from flower_pansvm.systems.pan_svm.tasks import LANDMARKS, SCORES
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


def figures(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:
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
