"""PAN-SVM: how many rows are behind each landmark. What its sums give away says the attack."""

from collections.abc import Sequence

from clients.systems.pan_svm import own_centres
from flower_pansvm.systems.pan_svm.tasks import LANDMARKS
from simulations.data.simulated_sites import SimulatedSites
from simulations.systems.system import SYSTEMS, Figures, SystemWords
from strategies.federation.transcript import TranscriptSum


@SYSTEMS.register("pan-svm")
class PanSvmWords(SystemWords):
    """A centre is a mean of rows: of few rows it is close to each of them.

    How many rows Hessians determine is counted whatever the system (`simulations.attack.audit`).
    """

    words = {  # noqa: RUF012
        "landmarks": (
            "Centres of groups of similar patients",
            "to have points to which the model compares patients",
        ),
        "assign": (
            "Sums over the patients nearest to each centre",
            "to move the centres closer to the patients",
        ),
        "box": ("Which parts of each column’s range are in use", "to draw points where there are patients"),
        "warm_start": ("The site’s own weights of the model", "to begin training near the end"),
        "cuts": (
            "Sums over patients near the border between classes, for each weights that were asked about",
            "to find the best weights",
        ),
    }
    examined = ("landmarks", "cuts")
    texts = {  # noqa: RUF012
        "smallest_cluster": ("smallest cluster {} rows", "no landmark is a mean of rows")
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:
        """Return the fewest rows of one site behind a centre of k-means."""
        sizes: list[int] = []
        for one in transcript:
            if one.task == LANDMARKS.name:
                question = one.question(LANDMARKS)
                for site in sites.before(one):
                    if site.name in one.sites:
                        for number in range(len(question.folds)):
                            counts = own_centres(site, question, number)[1]
                            sizes += counts[counts > 0].tolist()
        return {"smallest_cluster": int(min(sizes)) if sizes else None}
