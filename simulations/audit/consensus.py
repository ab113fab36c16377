"""Consensus: each sum of models is, but for what the coordinator knows, a sum over rows with their dual variables."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from clients.site import Site
from clients.systems.admm import LocalModels, first_models, next_models, row_duals
from clients.systems.pan_svm import labels_of
from flower_pansvm.systems.admm import CONSENSUS, ConsensusQuestion
from flower_pansvm.systems.pan_svm.tasks import FEATURE_MAP
from simulations.audit.phase import PHASES, Factors, Phase
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


@PHASES.register("consensus")
class ConsensusAudit(Phase):
    """What a site sends is z + sum_i alpha_i / rho y_i (f_i, 1), with alpha_i from 0 to C: a cut with fractions for c.

    So sums of all steps can be combined, like cuts. Squared lengths are not looked at, but are among the numbers. That
    few sums leave no row alone does not hide it: see :mod:`simulations.attack.differences_of_models`.
    """

    tasks = (CONSENSUS.name,)

    def factors(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Iterable[Factors]:
        """Yield the factors y_i alpha_i / C of all steps, those of all classes together."""
        asked = [one for one in transcript if one.task == CONSENSUS.name]
        if not asked:
            return
        by_site = [
            _factors(site, [one for one in asked if site.name in one.sites], len(asked))
            for site in sites.before(asked[0])
        ]
        kernel = asked[0].heard(FEATURE_MAP.numbered(0)).kernel
        yield Factors(by_site, {"model": len(by_site[0])}, of_rows=kernel == "linear")


def _factors(site: Site, asked: Sequence[TranscriptSum], steps: int) -> NDArray[np.float64]:
    """Return one site's factors, shape (steps * problems, rows); zeros from the step on at which it was lost."""
    question = asked[0].question(CONSENSUS)
    problems, models = question.problems(), first_models(question)
    found = np.zeros((steps, len(problems), len(site.train().classes)))
    for step, one in enumerate(asked):
        question = one.question(CONSENSUS)
        models = next_models(site, problems, models, question.z[-1], question.rho[-1])
        found[step] = _of_step(site, question, models)
    return found.reshape(-1, found.shape[2])


def _of_step(site: Site, question: ConsensusQuestion, models: LocalModels) -> NDArray[np.float64]:
    z, rho = question.z[-1], question.rho[-1]
    parts = []
    for problem, centre, penalty in zip(question.problems(), z - models.y / rho[:, None], rho, strict=True):
        _, duals = row_duals(site, problem, centre, penalty)
        parts.append(labels_of(site, problem).y * duals * penalty / problem.C)
    return np.stack(parts)
