"""Feature selection: the sums over support vectors, and over the rows of each class and side."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from clients.site import Site
from clients.systems.pan_svm import labels_of
from clients.systems.selection import support_vectors
from flower_pansvm.multiclass import Pair
from flower_pansvm.systems.pan_svm.cuts import Problem
from flower_pansvm.systems.selection import CLASS_MOMENTS, SUPPORT
from simulations.audit.phase import PHASES, Factors, Phase, no_rows
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


@PHASES.register("selection")
class SelectionAudit(Phase):
    """Sums about the rows themselves. Sums of squares are over the same rows and not counted again."""

    tasks = (SUPPORT.name, CLASS_MOMENTS.name)

    def factors(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Iterable[Factors]:
        """Yield the sums of both tasks together."""
        if any(one.task in self.tasks for one in transcript):
            by_site = row_factors_by_site(sites, transcript)
            yield Factors(by_site, {"row": len(by_site[0])}, of_rows=True)


def row_factors_by_site(
    sites: SimulatedSites, transcript: Sequence[TranscriptSum]
) -> list[NDArray[np.float64]]:
    """Return what each training row is multiplied by in the sums of a feature selection about the rows themselves.

    Cells that are missing are taken as if they were there. What the coordinator knows is divided
    out: the sum of the cutting planes' dual variables, so that a row beyond the margin has its weight as in a cut.

    Returns
    -------
    list of ndarray of shape (sums, rows)
        For each site. In the order of the sums, for each problem: alpha_i y_i, a 1 for the support vectors
        of the positive, and of the negative side. Then a 1 for the rows of each class, and the rows' weight for those
        of each side of a problem.
    """
    parts = no_rows(sites, transcript)
    sides: dict[tuple[Pair, tuple[float, float]], Problem] = {}
    for one in transcript:
        if one.task == SUPPORT.name:
            problems = one.question(SUPPORT).problems()
            sides.update({(problem.pair, problem.weights): problem for problem in problems})
            for part, site in zip(parts, sites.before(one), strict=True):
                part.append(_support_factors(site, one, problems))
    for one in transcript:
        if one.task == CLASS_MOMENTS.name:
            for part, site in zip(parts, sites.before(one), strict=True):
                part.append(_moment_factors(site, one, list(sides.values())))
    return [np.vstack(part) for part in parts]


def _support_factors(site: Site, one: TranscriptSum, problems: Sequence[Problem]) -> NDArray[np.float64]:
    """Return one site's factors in one sum over support vectors, shape (3 * problems, rows)."""
    found, asked = np.zeros((3 * len(problems), len(site.train().classes))), one.question(SUPPORT)
    if site.name in one.sites:
        for i, (problem, duals) in enumerate(zip(problems, asked.duals(), strict=True)):
            signed, both = support_vectors(site, problem, duals)
            found[3 * i] = signed / duals.beta.sum()
            for k, side in enumerate(both, start=1):
                found[3 * i + k, side] = 1.0
    return found


def _moment_factors(site: Site, one: TranscriptSum, problems: Sequence[Problem]) -> NDArray[np.float64]:
    """Return one site's factors in the sums by class and by side of each problem, shape (sums, rows)."""
    sides = [site.train().classes == np.arange(len(site.schema().classes))[:, None]]
    for problem in problems:
        labels = labels_of(site, problem)
        sides += [labels.weight * (labels.y > 0), labels.weight * (labels.y < 0)]
    return np.vstack(sides) * float(site.name in one.sites)
