"""Ensemble voting: test rows that all hospitals see, and counts of them. What the votes tell is not examined."""

from collections.abc import Sequence

from flower_pansvm.systems.ensemble import ENSEMBLE_SCORES, HELD_OUT
from simulations.data.simulated_sites import SimulatedSites
from simulations.systems.system import SYSTEMS, Figures, SystemWords
from strategies.federation.transcript import TranscriptSum


@SYSTEMS.register("svm-ensemble")
class EnsembleWords(SystemWords):
    """The test rows are disclosed as they are, and the counts are of these rows only: no training row is in either.

    The votes are what models of training rows say of rows that the coordinator hands out. Whoever chooses these can
    learn the models, so their task stays among those that are not examined.
    """

    words = {  # noqa: RUF012
        "held_out": ("Test patients’ rows, without their class", "to have all sites vote on them"),
        "votes": (
            "Class of each test patient by the site’s own model",
            "to find the class that most sites vote for",
        ),
        "ensemble_scores": (
            "Test patients by class and the class that most sites voted for",
            "to say how good the votes are",
        ),
    }
    examined = (HELD_OUT.name, ENSEMBLE_SCORES.name)
    texts = {  # noqa: RUF012
        "rows_shown": (
            "{} test rows, all cells of them, shown to the coordinator and every site",
            "no test row shown",
        )
    }

    def figures(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:  # noqa: ARG002
        """Return how many test rows all sites see; nothing of a run without an ensemble."""
        asked = [one for one in transcript if one.task == ENSEMBLE_SCORES.name]
        rows = [len(one.question(ENSEMBLE_SCORES).predicted) for one in asked]
        return {"rows_shown": rows[0] or None} if asked else {}
