"""PAN-SVM: the number of rows behind each landmark. The attack examines its sums."""

from collections.abc import Sequence

import numpy as np

from clients.systems.pan_svm import own_centres
from flower_pansvm.systems.pan_svm.tasks import LANDMARKS, SCORES
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


def figures(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:
    """Return the fewest rows of one site behind a centre, and the number of histogram bins with one row."""
    sizes: list[int] = []
    for entry in transcript:
        if entry.task == LANDMARKS.name:
            question = entry.question(LANDMARKS)
            for site in sites.before(entry):
                if site.name in entry.sites:
                    for index in range(len(question.folds)):
                        counts = own_centres(site, question, index)[1]
                        sizes += counts[counts > 0].tolist()
    counted: dict[str, int | None] = {"smallest_cluster": int(min(sizes)) if sizes else None}
    histograms = [entry.sums["histogram"].ravel() for entry in transcript if entry.task == SCORES.name]
    if histograms:
        counted["alone_in_bins"] = int(np.count_nonzero(np.concatenate(histograms) == 1))
    return counted
