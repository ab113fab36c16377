"""Output perturbation: exact cuts, all by one map, and weights with noise, which a proof bounds."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from clients.site import Site
from clients.systems.output_perturbation import mapped_rows, problem_of
from flower_pansvm.systems.output_perturbation import (
    LOCAL_WEIGHTS,
    PUBLIC_ROWS,
    RFF_CUTS,
    RFF_PRIVATE_SCORES,
    RffCutsQuestion,
)
from simulations.audit.parts_in_cuts import parts_in_cuts
from simulations.audit.phase import PHASES, Factors, Phase
from simulations.audit.sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


@PHASES.register("output_perturbation")
class OutputPerturbationAudit(Phase):
    """Exact sums of mapped rows, without a row that is made random. Public rows are known, and the result says so."""

    tasks = (RFF_CUTS.name, LOCAL_WEIGHTS.name, RFF_PRIVATE_SCORES.name, PUBLIC_ROWS.name)

    def factors(self, sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Iterable[Factors]:
        """Yield the factors of all cuts and curvatures."""
        asked = [one for one in transcript if one.task == RFF_CUTS.name]
        if asked:
            questions = [one.question(RFF_CUTS) for one in asked]
            parts: list[list[NDArray[np.float64]]] = [[] for _ in range(sites.settings.sites)]
            for one, question in zip(asked, questions, strict=True):
                for part, site in zip(parts, sites.before(one), strict=True):
                    part.append(_factors(site, question) * (site.name in one.sites))
            cuts = sum(len(question.points) for question in questions)
            yield Factors(
                [np.vstack(part) for part in parts], {"cut": cuts, "curvature": len(asked)}, of_rows=False
            )


def _factors(site: Site, question: RffCutsQuestion) -> NDArray[np.float64]:
    """Return one site's factors in the sums of one question, shape (sums, rows)."""
    labels, asked = problem_of(site, question)
    X = site.train().X
    return parts_in_cuts(lambda rows: mapped_rows(site, X[rows]), labels, asked)
