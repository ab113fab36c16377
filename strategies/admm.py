"""Consensus SVM by ADMM on a Nyström map (Forero, Cano & Giannakis 2010; Boyd et al. 2011): Lu 2016's rival."""

from collections.abc import Sequence
from dataclasses import dataclass
from logging import INFO, WARNING
from typing import Any

import numpy as np

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import one_versus_all
from flower_pansvm.systems.admm import CONSENSUS, MOST_STEPS, ConsensusAnswer, ConsensusQuestion
from flower_pansvm.systems.pan_svm.cuts import Problem
from strategies.api import (
    Federation,
    NystroemSettings,
    Outcome,
    PhasedStrategy,
    binary_problems,
    evaluate,
    gather_landmarks,
    in_single_precision,
    join,
    learn_moments,
    log,
    map_rows,
    pack_problems,
    tell_scalings,
)

FAR = 10.0
"""mu of (3.13): rho changes where one residual is so many times the other."""

FACTOR = 2.0
"""tau of (3.13): by how much."""

ADAPTING_STEPS = 100
"""Steps after which rho stays as it is: ADMM is proved to converge only if it does from some step on."""

LOGGED = 25
"""Steps between two lines in the log."""


@dataclass(frozen=True)
class AdmmResiduals:
    """How far a step is from consensus, and what Boyd's (3.12) allows; all of shape (problems,)."""

    primal: Floats  # length of the residual r
    dual: Floats  # length of the residual s
    primal_allowed: Floats  # the tolerance of r in (3.12)
    dual_allowed: Floats  # and that of s

    @property
    def met(self) -> Bools:
        """Which problems may stop."""
        small: Bools = (self.primal <= self.primal_allowed) & (self.dual <= self.dual_allowed)
        return small


@dataclass(frozen=True)
class Penalty:
    """ADMM's penalty and when it ends (Boyd et al. 2011, equations 3.12 and 3.13)."""

    rho: float  # the penalty, at the beginning
    adaptive: bool  # whether it follows the residuals
    absolute: float  # absolute tolerance of the residuals
    relative: float  # and their relative one


PENALTIES = {"fast": Penalty(1.0, True, 1e-5, 1e-4), "published": Penalty(1.0, False, 1e-4, 1e-2)}
"""By the setting ``search``. The published one is the linear SVM of Boyd et al. (2011), far from the optimum."""


class Consensus:
    """Trains the binary problems of a model together, one secure sum a step.

    Parameters
    ----------
    federation : Federation
        The sites, which have been told the feature map.
    problems : sequence of Problem
        The problems, each a class against the rest.
    penalty : Penalty
        The penalty, and when training ends.
    most_steps : int
        Steps after which the points are taken as they are.

    Attributes
    ----------
    points : ndarray of shape (problems, rank + 1)
        z: weights and, last, bias.
    rho : ndarray of shape (problems,)
        The penalties.
    rounds : int
        Steps so far, each a secure sum.
    history : list of AdmmResiduals
        Those of each step but the first.
    converged : bool
        Whether the residuals have met their tolerances.
    """

    def __init__(
        self,
        federation: Federation,
        problems: Sequence[Problem],
        penalty: Penalty,
        most_steps: int = MOST_STEPS,
    ) -> None:
        self.federation, self.problems = federation, problems
        self.penalty, self.most_steps = penalty, most_steps
        self.points = np.zeros((len(problems), problems[0].rank + 1))
        self.rho = np.full(len(problems), penalty.rho)
        self.rounds = 0
        self.history: list[AdmmResiduals] = []
        self.converged = False
        self._before = self.points, self.rho
        self._untold: list[tuple[Floats, Floats]] = []

    def train(self) -> Floats:
        """Return the points that the models have agreed on, shape (problems, rank + 1).

        A site that is lost takes its dual variables with it: the others go on from where they are, towards their own
        consensus.
        """
        for step in range(self.most_steps):
            self.rounds += 1
            asked = self.points, self.rho
            sums = self._ask(step)
            sites = len(self.federation.sites)
            if step > 0:
                self._judge(sums, sites)
                if self.converged:
                    break
            self._before = asked
            self.points = in_single_precision(agreed(sums.models / sites, asked[1] * sites))
        else:
            log(WARNING, "no consensus after %d steps; the model is that of the last one", self.most_steps)
        return self.points

    def _ask(self, step: int) -> ConsensusAnswer:
        """Have the sites take a step towards the points; those that have joined anew are told the earlier ones, too."""
        self._untold.append((self.points, self.rho))
        points, rho = (np.stack(parts) for parts in zip(*self._untold, strict=True))
        trips = self.federation.costs.round_trips
        question = ConsensusQuestion(
            **vars(pack_problems(self.problems)),
            first=step + 1 - len(points),
            points=points.astype(np.float32),
            rho=rho,
        )
        sums = self.federation.secure_sum(CONSENSUS, question)
        # A sum that a checkpoint has answered has cost no round trip, and the sites know nothing of it.
        if self.federation.costs.round_trips > trips:
            self._untold.clear()
        return sums

    def _judge(self, sums: ConsensusAnswer, sites: int) -> None:
        """Compare the residuals of the points with their tolerances (3.12), and adapt rho (3.13)."""
        numbers = np.sqrt(sites * self.points.shape[1])
        points, rho = self._before
        z, moved = (np.linalg.norm(part, axis=1) for part in (self.points, self.points - points))
        sizes = np.maximum(np.sqrt(sums.model_size), np.sqrt(sites) * z)
        found = AdmmResiduals(
            primal=np.sqrt(sums.primal),
            dual=rho * np.sqrt(sites) * moved,
            primal_allowed=numbers * self.penalty.absolute + self.penalty.relative * sizes,
            dual_allowed=numbers * self.penalty.absolute + self.penalty.relative * np.sqrt(sums.dual_size),
        )
        self.history.append(found)
        self.converged = bool(found.met.all())
        if self.penalty.adaptive and len(self.history) <= ADAPTING_STEPS:
            grow, shrink = found.primal > FAR * found.dual, found.dual > FAR * found.primal
            self.rho = np.where(grow, self.rho * FACTOR, np.where(shrink, self.rho / FACTOR, self.rho))
        if len(self.history) % LOGGED == 0 or self.converged:
            text = "consensus, step %4d: primal residual %.1e (%.1e allowed), dual %.1e (%.1e), %d of %d open"
            worst = int(np.argmax(found.primal / found.primal_allowed))
            log(
                INFO,
                text,
                len(self.history),
                *(float(part[worst]) for part in (found.primal, found.primal_allowed)),
                *(float(part[worst]) for part in (found.dual, found.dual_allowed)),
                np.count_nonzero(~found.met),
                len(self.problems),
            )


def agreed(mean: Floats, rho_sites: Floats) -> Floats:
    """Return argmin 1/2 ||w||^2 + rho N / 2 ||z - mean||^2, where z = (w, b) (section 7.1.1).

    Parameters
    ----------
    mean : ndarray of shape (problems, rank + 1)
        Mean over the sites of x + y / rho.
    rho_sites : ndarray of shape (problems,)
        rho N.
    """
    point = mean.copy()
    point[:, :-1] *= (rho_sites / (1.0 + rho_sites))[:, None]
    return point


class SvmAdmm(PhasedStrategy):
    """The linear SVMs of PAN-SVM's map, by consensus of the sites' own models in place of cutting planes.

    Only sums of the models leave, masked.
    """

    settings_class = NystroemSettings
    settings: NystroemSettings

    def fit(self, federation: Federation) -> Outcome:
        """Train one class against the rest, all classes in each message, and try the model on the test rows."""
        chosen, phase = self.settings, federation.costs.phase
        with phase("join"):
            schema = join(federation, chosen)
        with phase("scaling"):
            moments = learn_moments(federation, chosen.scaling)
        with phase("landmarks"):
            scaled = moments.scaled()
            tell_scalings(federation, [scaled.scaling])
            (landmarks,) = gather_landmarks(federation, chosen, [scaled])
        with phase("feature map"):
            feature_map = map_rows(federation, chosen, scaled, landmarks)
        pairs = one_versus_all(len(schema.classes))
        problems = binary_problems(chosen, schema, pairs, feature_map.rank, moments.rows)
        with phase("consensus"):
            consensus = Consensus(federation, problems, PENALTIES[chosen.search])
            weights = consensus.train()
        model = PanSVC.from_parts(schema, scaled.scaling, feature_map, weights, pairs)
        with phase("evaluation"):
            evaluation = evaluate(federation, model)
        figures = _figures(consensus, len(landmarks), feature_map.rank)
        return Outcome(
            model, evaluation, {"constant_columns": moments.constant_columns(schema.columns), **figures}
        )


def _figures(consensus: Consensus, landmarks: int, rank: int) -> dict[str, Any]:
    last = consensus.history[-1]
    return {
        "landmarks": landmarks,
        "rank": rank,
        "converged": consensus.converged,
        "consensus_rounds": consensus.rounds,
        "rho": consensus.rho.tolist(),
        "primal_residual": last.primal.tolist(),
        "dual_residual": last.dual.tolist(),
    }
