"""Consensus SVM by ADMM on a Nyström map (Forero, Cano & Giannakis 2010; Boyd et al. 2011): Lu 2016's rival."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from flower_pansvm.class_pairs import one_versus_all
from flower_pansvm.cutting_planes.problem import NO_FOLD, Problem
from flower_pansvm.errors import SettingError
from flower_pansvm.metrics import Evaluation
from flower_pansvm.models.pan_svc import PanSVC
from strategies.federation.federation import Federation
from strategies.nystroem_settings import NystroemSettings
from strategies.outcome import Outcome
from strategies.registry import strategies
from strategies.steps.binary_problems import (
    check_kernel,
    fit_feature_map,
    name_of,
    tell_feature_map,
    tell_landmarks,
    with_rows,
)
from strategies.steps.consensus import Consensus
from strategies.steps.joining import join
from strategies.steps.landmarks import gather_landmarks
from strategies.steps.scaling import learn_moments, tell_scalings
from strategies.steps.scoring import Trial, frame, score
from strategies.strategy import PhasedStrategy


@dataclass(frozen=True)
class Penalty:
    """ADMM's penalty and when it ends (Boyd et al. 2011, equations 3.12 and 3.13).

    Parameters
    ----------
    rho : float
        The penalty, at the beginning.
    adaptive : bool
        Whether it follows the residuals.
    absolute, relative : float
        Tolerances of the residuals.
    """

    rho: float
    adaptive: bool
    absolute: float
    relative: float


PENALTIES = {"fast": Penalty(1.0, True, 1e-5, 1e-4), "published": Penalty(1.0, False, 1e-4, 1e-2)}
"""By the setting ``search``. The published one is the linear SVM of Boyd et al. (2011), far from the optimum."""


@dataclass(frozen=True)
class SvmAdmmSettings(NystroemSettings):
    """Those of a Nyström map, with a penalty and a gamma that are given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tunes:
            raise SettingError(
                "C or gamma is 'auto', but svm-admm does not choose them. Give numbers, or gamma='scale'; "
                "'pansvm tune' chooses them with pan-svm."
            )


@strategies.register("svm-admm")
class SvmAdmm(PhasedStrategy):
    """The linear SVMs of PAN-SVM's map, by consensus of the sites' own models in place of cutting planes.

    Only sums of the models leave, masked.
    """

    settings_class = SvmAdmmSettings
    settings: SvmAdmmSettings

    def fit(self, federation: Federation) -> Outcome:
        """Train one class against the rest, all classes in each message, and try the model on the test rows."""
        chosen, phase = self.settings, federation.costs.phase
        with phase("join"):
            schema = join(federation, chosen)
        with phase("scaling"):
            moments = learn_moments(federation, chosen)
        with phase("landmarks"):
            scaled = moments.scaled()
            tell_scalings(federation, [scaled])
            (landmarks,) = gather_landmarks(federation, chosen, [scaled])
        with phase("feature map"):
            features = np.ones(len(schema.columns), dtype=np.bool_)
            feature_map = fit_feature_map(chosen, scaled, landmarks, features)
            check_kernel(feature_map.kernel, scaled)
            tell_landmarks(federation, 0, landmarks, scaling=0)
            tell_feature_map(federation, 0, feature_map, landmark_set=0)
        pairs = one_versus_all(len(schema.classes))
        problems = [
            with_rows(
                Problem(name_of(pair, schema), feature_map.rank, 0.0, float(chosen.C or 0), pair),
                chosen,
                moments.rows,
            )
            for pair in pairs
        ]
        with phase("consensus"):
            consensus = Consensus(
                federation,
                problems,
                **asdict(PENALTIES[chosen.search]),
            )
            weights = consensus.train()
        model = PanSVC.from_parts(schema, scaled.scaling, feature_map, weights, pairs)
        with phase("evaluation"):
            confusion, histograms = score(federation, [Trial(0, NO_FOLD, weights, *frame(model))], pairs)
        evaluation = Evaluation.from_counts(confusion[0], histograms[0])
        return Outcome(
            model,
            evaluation,
            {
                "constant_columns": moments.constant_columns(schema.columns),
                **_figures(consensus, len(landmarks), feature_map.rank),
            },
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
