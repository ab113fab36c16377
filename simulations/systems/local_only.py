"""Local training: counts of test rows, in which no training row is."""

from collections.abc import Sequence

from flower_pansvm.systems.local_only import LOCAL_SCORES
from simulations.data.simulated_sites import SimulatedSites
from simulations.systems.system import SYSTEMS, Figures, SystemWords
from strategies.federation.transcript import TranscriptSum


@SYSTEMS.register("local-only")
class LocalOnlyWords(SystemWords):
    """Looked at, and found to be sums over test rows only.

    What the counts say of the models that they come from, and so of the training rows, is not examined.
    """

    words = {  # noqa: RUF012
        "local_scores": (
            "Test patients by class and predicted class, by the site’s own model",
            "to say how good models of single sites are",
        ),
    }
    examined = (LOCAL_SCORES.name,)
    texts = {  # noqa: RUF012
        "rows_counted": (
            "{} test rows and no training row in the counts of the sites' own models",
            "no test row in the counts of the sites' own models",
        )
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:
        """Return how many test rows are counted; nothing of a run without local models."""
        asked = [one for one in transcript if one.task == LOCAL_SCORES.name]
        rows = [
            len(site.test().classes) for one in asked for site in sites.before(one) if site.name in one.sites
        ]
        return {"rows_counted": sum(rows) or None} if asked else {}
