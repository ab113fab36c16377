"""Scaling: the sums over all training rows of each fold."""

from collections.abc import Iterable, Sequence

import numpy as np

from flower_pansvm.systems.common import MOMENTS, NO_FOLD, SCHEMA
from simulations.audit.phase import PHASES, Factors, Phase, no_rows
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


@PHASES.register("scaling")
class ScalingAudit(Phase):
    """A 1 for the rows of each fold: what moments are made of.

    Cells that are missing are taken as if they were there. The sums of squares are over the same rows and not counted
    again.
    """

    tasks = (MOMENTS.name,)

    def factors(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Iterable[Factors]:
        """Yield the sums of all moments of the run."""
        asked = [one for one in transcript if one.task == MOMENTS.name]
        if not asked:
            return
        parts = no_rows(sites, transcript)
        for one in asked:
            folds = np.array(range(one.heard(SCHEMA).folds) or [NO_FOLD])
            for part, site in zip(parts, sites.before(one), strict=True):
                part.append((site.folds() == folds[:, None]) * float(site.name in one.sites))
        by_site = [np.vstack(part) for part in parts]
        yield Factors(by_site, {"row": len(by_site[0])}, of_rows=True)
