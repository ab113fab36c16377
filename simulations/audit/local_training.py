"""Local training: counts of test rows, in which no training row is."""

from collections.abc import Sequence

from flower_pansvm.systems.local_only import LOCAL_SCORES
from simulations.audit.phase import PHASES, Phase
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


@PHASES.register("local_training")
class LocalTrainingAudit(Phase):
    """Looked at, and found to be sums over test rows only.

    What the counts say of the models that they come from, and so of the training rows, is not examined.
    """

    tasks = (LOCAL_SCORES.name,)
    texts = {  # noqa: RUF012
        "rows_counted": (
            "{} test rows and no training row in the counts of the sites' own models",
            "no test row in the counts of the sites' own models",
        )
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> dict[str, int | None]:
        """Return how many test rows are counted; nothing of a run without local models."""
        asked = [one for one in transcript if one.task == LOCAL_SCORES.name]
        rows = [
            len(site.test().classes) for one in asked for site in sites.before(one) if site.name in one.sites
        ]
        return {"rows_counted": sum(rows) or None} if asked else {}
