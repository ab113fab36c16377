"""Consensus SVM by ADMM on a Nyström map (Forero, Cano & Giannakis 2010; Boyd et al. 2011): Lu 2016's baseline."""

from collections.abc import Sequence
from dataclasses import dataclass, field
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
    broadcast_scalings,
    evaluate,
    gather_landmarks,
    in_single_precision,
    join,
    learn_moments,
    logger,
    map_rows,
    pack_problems,
)

FAR = 10.0
"""mu of (3.13): rho changes where one residual is more than so many times the other."""

FACTOR = 2.0
"""tau of (3.13), the factor of a change."""

ADAPTING_STEPS = 100
"""Steps after which rho is constant: the proof that ADMM converges needs it from some step on."""

LOGGED = 25
"""Steps between two log lines."""


@dataclass(frozen=True)
class AdmmResiduals:
    """The residuals of a step, and their tolerances in Boyd's (3.12); all of shape (problems,)."""

    primal: Floats  # length of the residual r
    dual: Floats  # length of the residual s
    primal_allowed: Floats  # tolerance of r
    dual_allowed: Floats  # tolerance of s

    @property
    def met(self) -> Bools:
        """Mask of the problems within both tolerances."""
        return (self.primal <= self.primal_allowed) & (self.dual <= self.dual_allowed)


@dataclass(frozen=True)
class Penalty:
    """ADMM's penalty and tolerances (Boyd et al. 2011, equations 3.12 and 3.13)."""

    rho: float  # the initial penalty
    adaptive: bool  # whether it follows the residuals
    absolute: float  # absolute tolerance of the residuals
    relative: float  # relative tolerance of the residuals


PENALTIES = {"fast": Penalty(1.0, True, 1e-5, 1e-4), "published": Penalty(1.0, False, 1e-4, 1e-2)}
"""By the setting ``search``. The published one is the linear SVM of Boyd et al. (2011), far from the optimum."""


@dataclass(eq=False)
class Consensus:
    """Trains the binary problems of a model together, one secure sum a step."""

    federation: Federation  # the sites, which have received the feature map
    problems: Sequence[Problem]  # each a class against the rest
    penalty: Penalty
    most_steps: int = MOST_STEPS
    points: Floats = field(init=False)  # (problems, rank + 1): z, weights and, last, bias
    rho: Floats = field(init=False)  # (problems,): the penalties
    rounds: int = field(default=0, init=False)  # steps so far, each a secure sum
    history: list[AdmmResiduals] = field(default_factory=list, init=False)  # of each step but the first
    converged: bool = field(default=False, init=False)  # whether the residuals have met their tolerances

    def __post_init__(self) -> None:
        self.points = np.zeros((len(self.problems), self.problems[0].rank + 1))
        self.rho = np.full(len(self.problems), self.penalty.rho)
        self._before = self.points, self.rho
        self._unsent: list[tuple[Floats, Floats]] = []

    def train(self) -> Floats:
        """Return the consensus points, shape (problems, rank + 1).

        A site that drops out takes its dual variables with it: the others continue towards their own consensus.
        """
        for step in range(self.most_steps):
            self.rounds += 1
            sent = self.points, self.rho
            sums = self._ask(step)
            sites = len(self.federation.sites)
            if step > 0:
                self._judge(sums, sites)
                if self.converged:
                    break
            self._before = sent
            self.points = in_single_precision(agreed(sums.models / sites, sent[1] * sites))
        else:
            logger.warning("no consensus after %d steps; the model is that of the last step", self.most_steps)
        return self.points

    def _ask(self, step: int) -> ConsensusAnswer:
        """Have the sites take a step towards the points; sites of a resumed run receive the earlier points, too."""
        self._unsent.append((self.points, self.rho))
        points, rho = (np.stack(values) for values in zip(*self._unsent, strict=True))
        trips = self.federation.costs.round_trips
        question = ConsensusQuestion(
            **vars(pack_problems(self.problems)),
            first=step + 1 - len(points),
            points=points.astype(np.float32),
            rho=rho,
        )
        sums = self.federation.secure_sum(CONSENSUS, question)
        # A sum from a checkpoint costs no round trip, and the sites have not received its points.
        if self.federation.costs.round_trips > trips:
            self._unsent.clear()
        return sums

    def _judge(self, sums: ConsensusAnswer, sites: int) -> None:
        """Compare the residuals of the points with their tolerances (3.12), and adapt rho (3.13)."""
        root_size = np.sqrt(sites * self.points.shape[1])
        points, rho = self._before
        z, change = (np.linalg.norm(vectors, axis=1) for vectors in (self.points, self.points - points))
        sizes = np.maximum(np.sqrt(sums.model_size), np.sqrt(sites) * z)
        residuals = AdmmResiduals(
            primal=np.sqrt(sums.primal),
            dual=rho * np.sqrt(sites) * change,
            primal_allowed=root_size * self.penalty.absolute + self.penalty.relative * sizes,
            dual_allowed=root_size * self.penalty.absolute + self.penalty.relative * np.sqrt(sums.dual_size),
        )
        self.history.append(residuals)
        self.converged = bool(residuals.met.all())
        if self.penalty.adaptive and len(self.history) <= ADAPTING_STEPS:
            grow, shrink = residuals.primal > FAR * residuals.dual, residuals.dual > FAR * residuals.primal
            self.rho = np.where(grow, self.rho * FACTOR, np.where(shrink, self.rho / FACTOR, self.rho))
        if len(self.history) % LOGGED == 0 or self.converged:
            text = "consensus, step %4d: primal residual %.1e (%.1e allowed), dual %.1e (%.1e), %d of %d open"
            worst = int(np.argmax(residuals.primal / residuals.primal_allowed))
            logger.info(
                text,
                len(self.history),
                residuals.primal[worst],
                residuals.primal_allowed[worst],
                residuals.dual[worst],
                residuals.dual_allowed[worst],
                np.count_nonzero(~residuals.met),
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
    """The linear SVMs of PAN-SVM's map, by consensus of the sites' local models instead of cutting planes.

    Only masked sums of the models leave a site.
    """

    settings_class = NystroemSettings
    settings: NystroemSettings

    def fit(self, federation: Federation) -> Outcome:
        """Train one class against the rest, all classes in each message, and evaluate the model on the test rows."""
        settings, phase = self.settings, federation.costs.phase
        with phase("join"):
            schema = join(federation, settings)
        with phase("scaling"):
            moments = learn_moments(federation, settings.scaling)
        with phase("landmarks"):
            scaled = moments.scaled()
            broadcast_scalings(federation, [scaled.scaling])
            (landmarks,) = gather_landmarks(federation, settings, [scaled])
        with phase("feature map"):
            feature_map = map_rows(federation, settings, scaled, landmarks)
        pairs = one_versus_all(len(schema.classes))
        problems = binary_problems(settings, schema, pairs, feature_map.rank, moments.rows)
        with phase("consensus"):
            consensus = Consensus(federation, problems, PENALTIES[settings.search])
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
