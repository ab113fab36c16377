"""Consensus: every hospital's own linear SVM is drawn to the others', step by step (ADMM; Forero et al. 2010)."""

from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats, Singles
from flower_pansvm.errors import FederationError
from flower_pansvm.systems.pan_svm.tasks import ProblemsQuestion
from flower_pansvm.systems.scaling import HEADROOM
from flower_pansvm.tasks import MOST_ROWS, UNKNOWN, Task, summed
from flower_pansvm.terms import Terms

MOST_STEPS = 1000
"""Most steps that a site answers in a run."""


@dataclass(frozen=True)
class ConsensusQuestion(ProblemsQuestion):
    """Points that the models are to agree on: the last one is asked for, those before it the site may have missed.

    All problems have one feature map. Of their classes, each is against the rest.
    """

    first: int  # number of the first of these steps, from 0
    points: Singles  # (steps, problems, rank + 1): z of each step, weights and bias
    rho: Floats  # (steps, problems): Boyd's penalty

    @property
    def z(self) -> Floats:
        """The points in double precision, as they are computed with."""
        return self.points.astype(np.float64)


def _models(question: ConsensusQuestion, terms: Terms, sites: int) -> float:  # noqa: ARG001
    """Bound x + y / rho: z and a sum over the rows of alpha_i / rho times f_i, as clients/systems/admm.py has it.

    FederationError if there is no point, or a penalty that is not positive.
    """
    if question.points.size == 0 or question.rho.size == 0 or not (question.rho > 0).all():
        raise FederationError(
            "A request for consensus models has no point, or a rho that is not above 0. Start a new run."
        )
    if terms.kernel != "rbf":
        return UNKNOWN
    pull = float(np.max(question.C / question.rho[-1])) * question.heaviest()
    return HEADROOM * (float(np.abs(question.points[-1]).max()) + MOST_ROWS * pull)


@dataclass(frozen=True)
class ConsensusAnswer:
    """A step's new local models; and how far the ones of the step before are from the point: squared lengths."""

    models: Floats = summed(_models, shape=lambda q: q.points.shape[1:])  # x + y / rho
    # ||x - z||^2 of the step before, with the z asked; ||x||^2 and ||y||^2 of that step
    primal: Floats = summed(shape=lambda q: q.points.shape[1:2], not_negative=True)
    model_size: Floats = summed(shape=lambda q: q.points.shape[1:2], not_negative=True)
    dual_size: Floats = summed(shape=lambda q: q.points.shape[1:2], not_negative=True)


CONSENSUS = Task("consensus", "train", ConsensusQuestion, ConsensusAnswer)
