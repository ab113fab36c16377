"""Distortion: how many published rows can be told whose they are, and how much of a column is left in its copy."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from clients.site import Site
from clients.systems.ssvd import cells_to_distort
from flower_pansvm.systems.ssvd import COLUMN_VOTES, DISTORTED_ROWS, DistortedRowsQuestion, distort
from simulations.audit.phase import PHASES, Phase
from simulations.audit.sites import SimulatedSites
from simulations.distortion import column_correlation, linked_rows, matched_rows
from strategies.federation.transcript import TranscriptSum

MOST_MATCHED = 3000
"""Rows of a site that are matched one to one; the time grows with the third power."""


@PHASES.register("distortion")
class DistortionAudit(Phase):
    """Each row is published as a row of its own, without anything random in it.

    It is linked if it is nearest to its own original, among all of the site's. The votes on columns are numbers of
    sites.
    """

    tasks = (DISTORTED_ROWS.name, COLUMN_VOTES.name)
    texts: ClassVar[Mapping[str, tuple[str, str]]] = {
        "rows_published": ("{} distorted rows published with their labels", "no distorted row published"),
        "linked": ("{:.1%} of them nearest to their own original", "none of them near an original"),
        "matched": (
            "{:.1%} if all originals are known and each is given to one of them",
            "not matched one to one, there are too many rows",
        ),
        "correlation": (
            "columns correlate with their originals by {:.2f}",
            "no column left that is not constant",
        ),
    }

    def figures(
        self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]
    ) -> Mapping[str, float | None]:
        """Return how many rows are published, the share that is linked, and the sites' mean correlation."""
        asked = [one for one in transcript if one.task == DISTORTED_ROWS.name]
        if not asked:
            return {}
        question = asked[0].question(DISTORTED_ROWS)
        tables = [_tables(site, question) for site in sites.before(asked[0]) if site.name in asked[0].sites]
        rows = sum(len(original) for original, _ in tables)
        correlations = np.array([column_correlation(*pair) for pair in tables])
        known = correlations[np.isfinite(correlations)]
        few = max(len(original) for original, _ in tables) <= MOST_MATCHED
        return {
            "rows_published": rows,
            "linked": sum(linked_rows(*pair) for pair in tables) / rows,
            "matched": sum(matched_rows(*pair) for pair in tables) / rows if few else None,
            "correlation": float(known.mean()) if len(known) else None,
        }


def _tables(site: Site, question: DistortedRowsQuestion) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a site's cells and their distorted copies, rows in the same order."""
    cells = cells_to_distort(site, question)
    return cells, distort(cells)
