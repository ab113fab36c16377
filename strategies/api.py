"""What the author of a strategy imports: the base classes, and the phases that several strategies share.

Models are in :mod:`flower_pansvm.models`, the questions of each system in :mod:`flower_pansvm.systems`.
"""

from flower_pansvm.class_pairs import one_versus_all
from flower_pansvm.errors import FederationError, SettingError, TrainingError
from strategies.federation.federation import Federation
from strategies.master.packing import pack_problems
from strategies.outcome import Outcome
from strategies.registry import strategies
from strategies.settings import Settings
from strategies.steps.binary_problems import binary_problems
from strategies.steps.feature_maps import map_rows
from strategies.steps.joining import join
from strategies.steps.landmarks import gather_landmarks
from strategies.steps.scaling import learn_moments, tell_scalings
from strategies.steps.scoring import evaluate, evaluate_counts
from strategies.strategy import PhasedStrategy
from strategies.svm_settings import NystroemSettings, SvmSettings

__all__ = [
    "Federation",
    "FederationError",
    "NystroemSettings",
    "Outcome",
    "PhasedStrategy",
    "SettingError",
    "Settings",
    "SvmSettings",
    "TrainingError",
    "binary_problems",
    "evaluate",
    "evaluate_counts",
    "gather_landmarks",
    "join",
    "learn_moments",
    "map_rows",
    "one_versus_all",
    "pack_problems",
    "strategies",
    "tell_scalings",
]
