"""The building blocks of a strategy: base classes, and the steps that several strategies share.

Every strategy here imports them, as other authors' strategies do. Models are in :mod:`flower_pansvm.models`, the
questions of each system in :mod:`flower_pansvm.systems`.
"""

from flower_pansvm.errors import FederationError, SettingError, TrainingError
from flower_pansvm.log import logger
from flower_pansvm.multiclass import one_versus_all
from strategies.constraints import numbers, one_text, or_word
from strategies.federation.checks import AggregateResult, Problems
from strategies.federation.exchange import Costs
from strategies.federation.federation import Federation
from strategies.master.engine import solve
from strategies.master.packing import in_single_precision, pack_duals, pack_problems
from strategies.master.progress import Progress
from strategies.master.search import PointSearch
from strategies.outcome import Outcome
from strategies.promise_settings import PromiseSettings
from strategies.registry import check_classes
from strategies.settings import Settings, term
from strategies.steps.binary_problems import binary_problems, pairs_of, warm_start
from strategies.steps.column_blocks import layout_of
from strategies.steps.cutting_planes import CuttingPlanes, SitesChangedError
from strategies.steps.feature_maps import (
    broadcast_feature_map,
    broadcast_landmarks,
    fit_feature_map,
    fit_map,
    map_rows,
    scale_gamma,
)
from strategies.steps.joining import join, refusal
from strategies.steps.landmarks import gather_landmarks
from strategies.steps.private_tests import PrivateTest, edges_around, private_test
from strategies.steps.private_training import Budget, warn_of_early_end
from strategies.steps.public_ranges import join_with_ranges
from strategies.steps.scaling import (
    ColumnSums,
    Moments,
    ScaledFeatures,
    broadcast_scalings,
    learn_extremes,
    learn_moments,
    scaling_of_rows,
)
from strategies.steps.scoring import (
    SPREAD,
    Trial,
    evaluate,
    evaluate_counts,
    frame,
    score,
    score_held_out,
    wrong_squares,
)
from strategies.steps.site_differences import note_differences, share_differences
from strategies.strategy import PhasedStrategy
from strategies.svm_settings import KernelSettings, NystroemSettings, PanSvmSettings, SvmSettings
