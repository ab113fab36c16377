"""Consensus SVM by ADMM on a Nyström map (Forero, Cano & Giannakis 2010; Boyd et al. 2011): Lu 2016's rival."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from flower_pansvm.class_pairs import one_versus_all
from flower_pansvm.cutting_planes.problem import NO_FOLD, Problem
from flower_pansvm.errors import SettingError
from flower_pansvm.metrics import Evaluation
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.setting_values import setting
from strategies.federation.federation import Federation
from strategies.nystroem_settings import NystroemSettings
from strategies.outcome import Outcome
from strategies.registry import strategies
from strategies.setting_kinds import flag, number
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
class SvmAdmmSettings(NystroemSettings):
    """Penalty and tolerances of ADMM, besides those of a Nyström map."""

    rho: float = setting(1.0, number(above=0), "ADMM's penalty, at the beginning.")
    adaptive_rho: bool = setting(
        True, flag(), "Whether rho follows the residuals (Boyd et al. 2011, equation 3.13)."
    )
    abs_tol: float = setting(1e-5, number(above=0), "Absolute tolerance of ADMM's residuals.")
    rel_tol: float = setting(1e-4, number(above=0), "Relative tolerance of ADMM's residuals.")

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
                rho=chosen.rho,
                adaptive=chosen.adaptive_rho,
                absolute=chosen.abs_tol,
                relative=chosen.rel_tol,
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
