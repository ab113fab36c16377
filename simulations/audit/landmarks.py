"""Landmarks: how many rows are behind each centre of k-means."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from clients.systems.pan_svm import own_centres
from flower_pansvm.systems.pan_svm.tasks import LANDMARKS
from simulations.audit.phase import PHASES, Phase
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


def smallest_cluster(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> int | None:
    """Return the fewest rows of one site behind a centre of k-means; None if there is no centre."""
    sizes: list[int] = []
    for one in transcript:
        if one.task == LANDMARKS.name:
            question = one.question(LANDMARKS)
            for site in sites.before(one):
                if site.name in one.sites:
                    for number in range(len(question.folds)):
                        sizes += own_centres(site, question, number)[1].tolist()
    return min(sizes) if sizes else None


@PHASES.register("landmarks")
class LandmarksAudit(Phase):
    """A centre is a mean of rows: of few rows it is close to each of them."""

    tasks = (LANDMARKS.name,)
    texts: ClassVar[Mapping[str, tuple[str, str]]] = {
        "smallest_cluster": ("smallest cluster {} rows", "no landmark is a mean of rows")
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> dict[str, int | None]:
        """Return the fewest rows of one site behind a centre."""
        return {"smallest_cluster": smallest_cluster(sites, transcript)}
