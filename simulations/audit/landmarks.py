"""Landmarks: how many rows are behind each centre of k-means."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clients.site import Site
from clients.systems.pan_svm import own_centres, sampled_rows
from flower_pansvm.systems.pan_svm.landmarks import totals_by_centre
from flower_pansvm.systems.pan_svm.tasks import ASSIGN, LANDMARKS
from simulations.audit.phase import PHASES, Phase
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


def smallest_cluster(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> int | None:
    """Return the fewest rows of one site behind a centre of k-means, local or federated; None if there is no centre."""
    sizes: list[int] = []
    for one in transcript:
        if one.task in CLUSTER_SIZES:
            for site in sites.before(one):
                if site.name in one.sites:
                    counts = np.concatenate(CLUSTER_SIZES[one.task](site, one))
                    sizes += counts[counts > 0].tolist()
    return int(min(sizes)) if sizes else None


def _own_cluster_sizes(site: Site, one: TranscriptSum) -> list[NDArray[Any]]:
    """Return the rows behind each of a site's centres, for each scaling."""
    question = one.question(LANDMARKS)
    return [own_centres(site, question, number)[1] for number in range(len(question.folds))]


def _assigned_sizes(site: Site, one: TranscriptSum) -> list[NDArray[Any]]:
    """Return the rows of a site in each sum of a step of federated k-means, for each scaling."""
    sizes, question = [], one.question(ASSIGN)
    for number, (fold, count) in enumerate(zip(question.folds, question.counts, strict=True)):
        centres = question.centres[number, :count]
        X = sampled_rows(site, number, int(fold), len(centres))
        sizes.append(totals_by_centre(X, centres, question.min_cluster)[1])
    return sizes


CLUSTER_SIZES = {LANDMARKS.name: _own_cluster_sizes, ASSIGN.name: _assigned_sizes}


@PHASES.register("landmarks")
class LandmarksAudit(Phase):
    """A centre is a mean of rows: of few rows it is close to each of them."""

    tasks = tuple(CLUSTER_SIZES)
    texts: ClassVar[Mapping[str, tuple[str, str]]] = {
        "smallest_cluster": ("smallest cluster {} rows", "no landmark is a mean of rows")
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> dict[str, int | None]:
        """Return the fewest rows of one site behind a centre."""
        return {"smallest_cluster": smallest_cluster(sites, transcript)}
