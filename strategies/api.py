"""What the author of a strategy imports: the base classes, and the phases that several strategies share.

Models are in :mod:`flower_pansvm.models`, the questions of each system in :mod:`flower_pansvm.systems`.
"""

from flower_pansvm.class_pairs import one_versus_all
from flower_pansvm.errors import FederationError, SettingError, TrainingError
from flower_pansvm.metrics import Evaluation
from flower_pansvm.systems.common import NO_FOLD
from flower_pansvm.systems.pan_svm.cuts import Problem
from strategies.federation.federation import Federation
from strategies.outcome import Outcome
from strategies.registry import strategies
from strategies.settings import Settings
from strategies.steps.binary_problems import (
    fit_feature_map,
    name_of,
    tell_feature_map,
    tell_landmarks,
    with_rows,
)
from strategies.steps.joining import join
from strategies.steps.landmarks import gather_landmarks
from strategies.steps.packing import pack_problems
from strategies.steps.scaling import learn_moments, tell_scalings
from strategies.steps.scoring import Trial, evaluate_counts, frame, score
from strategies.strategy import PhasedStrategy
from strategies.svm_settings import NystroemSettings, SvmSettings

__all__ = [
    "NO_FOLD",
    "Evaluation",
    "Federation",
    "FederationError",
    "NystroemSettings",
    "Outcome",
    "PhasedStrategy",
    "Problem",
    "SettingError",
    "Settings",
    "SvmSettings",
    "TrainingError",
    "Trial",
    "evaluate_counts",
    "fit_feature_map",
    "frame",
    "gather_landmarks",
    "join",
    "learn_moments",
    "name_of",
    "one_versus_all",
    "pack_problems",
    "score",
    "strategies",
    "tell_feature_map",
    "tell_landmarks",
    "tell_scalings",
    "with_rows",
]
