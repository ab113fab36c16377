"""An active coordinator that reads single rows: from slopes of the loss at weights that differ in one row's side.

With large weights a row counts fully or not at all, as it is on one side of a plane or on the other. The slopes at two
parallel planes close to each other differ in the rows between them; where that is one row, the difference is that row.
No site can tell such weights from honest ones. The coordinator is told more than a real one knows: between which ends
the cells are, and how far the rows reach across the planes.
"""

from dataclasses import dataclass

import numpy as np

from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.cutting_planes.question import Question
from flower_pansvm.fourier_map import BINS, CONSTANT, LEAST_LENGTH, FourierMap
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.privacy.exact import LARGEST_WEIGHT, WEIGHT_STEP, rounded
from flower_pansvm.tasks.cutting_planes import CUTS, FEATURE_MAP, FeatureMapBroadcast
from flower_pansvm.tasks.landmarks import LANDMARK_SET, LandmarkBroadcast
from flower_pansvm.tasks.private_training import PRIVATE_MAP, PRIVATE_STEP, PrivateWeightsQuestion
from flower_pansvm.tasks.scaling import SCALING, ScalingBroadcast
from simulations.attack.findings import Found, found
from simulations.attack.knowledge import Floats
from simulations.data.pooling import pooled
from simulations.engines.running import in_process_grid
from strategies.federation.federation import Federation
from strategies.registry import all_strategies
from strategies.settings import Settings
from strategies.steps.joining import join
from strategies.steps.packing import pack_questions, unpack_answers

STEEP = 2.0**20
"""With weights this large, all but a row or two are far from the margin."""

FAR = 2.0**13
"""How far apart points are between which losses give a slope: the noise in a loss does not grow with that. Weights are
multiples of it, so that single precision holds all points as they are."""

WIDTH = 0.4
"""Of the feature map's columns, so that no row is shortened."""

UNCHECKED = 1e100
"""What this coordinator takes sums to be off by: it does not stop at a strange one."""


@dataclass(frozen=True)
class Planes:
    """Parallel planes through places of rows, which are 0 and 1 at the ends of each column.

    Parameters
    ----------
    low, high : ndarray of shape (columns,)
        Ends of each column.
    direction : ndarray of shape (columns,)
        What the planes are perpendicular to.
    heights : ndarray of shape (planes,)
        Where they are in that direction, from the middle of all columns.
    """

    low: Floats
    high: Floats
    direction: Floats
    heights: Floats

    @classmethod
    def across(cls, X: Floats, planes: int, seed: int) -> "Planes":
        """Return planes across rows, in a random direction."""
        low, high = X.min(axis=0), X.max(axis=0)
        high = np.where(high > low, high, low + 1)
        direction = np.random.default_rng(seed).standard_normal((X.shape[1],))
        reach = ((X - low) / (high - low) - 0.5) @ direction
        return cls(low, high, direction, np.linspace(reach.min(), reach.max(), planes))


def rows_read(settings: Settings, planes: int, rho: float | None = None) -> Found:
    """Attack the simulated sites of a run, and count the rows that are read.

    Parameters
    ----------
    settings : Settings
        Of the run; in one with ``kernel=linear`` it asks for losses, as of PAN-SVM.
    planes : int
        How many planes it asks about.
    rho : float, optional
        What it may spend of the sites' budget (zCDP). With it, it asks for the steps of private training.
    """
    train = pooled(settings).train.X
    across = Planes.across(train, planes, settings.seed)
    strategy = all_strategies()[settings.strategy](settings)
    strategy.federation = Federation(in_process_grid(settings), settings, strategy)
    join(strategy.federation, settings)
    if rho is None:
        sums = slopes_of_losses(strategy.federation, across)
    else:
        sums = slopes_of_steps(strategy.federation, across, rho)
    # Between two planes with one row, this is the row; the other differences are guesses like any.
    guesses = np.diff(sums, axis=0) + 0.5
    places = (train - across.low) / (across.high - across.low)
    return found(places, guesses, places.std(axis=0))


def slopes_of_losses(federation: Federation, planes: Planes) -> Floats:
    """Return the sums of the places, from the middle, of the rows that count; shape (planes, columns)."""
    columns = len(planes.low)
    middle, ends = (planes.low + planes.high) / 2, planes.high - planes.low
    federation.broadcast(SCALING, ScalingBroadcast(middle[None], middle[None], ends[None]))
    federation.broadcast(LANDMARK_SET.numbered(0), LandmarkBroadcast(0, np.eye(columns)))
    the_rows_themselves = FeatureMapBroadcast(
        0, np.ones(columns, dtype=np.bool_), "linear", 1.0, 1, 0.0, np.eye(columns, dtype=np.float32)
    )
    federation.broadcast(FEATURE_MAP.numbered(0), the_rows_themselves)
    w = np.tile(STEEP * planes.direction, (len(planes.heights), 1))
    at = FAR * np.rint(np.column_stack([w, -STEEP * planes.heights]))
    around = FAR * np.vstack([np.zeros(columns + 1), np.eye(columns, columns + 1)])
    points = (at[:, None] + around[None]).reshape(-1, columns + 1)
    problem, question = Problem("", columns, 2.0**20, 1.0, Pair(1, REST)), Question(points, points[0])
    asked = pack_questions([problem], [question])
    sums = federation.secure_sum(CUTS, asked, dict.fromkeys(CUTS.summed, UNCHECKED))
    (answer,) = unpack_answers(sums, [question])
    loss = answer.cuts.loss.reshape(-1, columns + 1)
    slopes: Floats = (loss[:, :1] - loss[:, 1:]) / FAR
    return slopes


def slopes_of_steps(federation: Federation, planes: Planes, rho: float) -> Floats:
    """Return the same of private steps, which all together cost the sites so much (zCDP)."""
    columns = len(planes.low)
    the_rows_themselves = FourierMap(
        low=planes.low,
        high=planes.high,
        ranks=np.zeros((columns, BINS)),
        rises=np.zeros((columns, BINS)),
        mean=np.full(columns, 0.5),
        deviation=np.full(columns, WIDTH),
        frequencies=np.empty((0, columns)),
        linear=1.0,
    )
    federation.broadcast(PRIVATE_MAP, the_rows_themselves)
    # What the map makes of a place.
    shrunk = np.sqrt(1 - CONSTANT**2) / (LEAST_LENGTH * np.sqrt(columns)) / (2 * WIDTH)
    sums = []
    for height in planes.heights:
        w = np.append(planes.direction / shrunk, -height / CONSTANT)
        steepest = rounded(w / np.abs(w).max() * LARGEST_WEIGHT, WEIGHT_STEP, LARGEST_WEIGHT)
        question = PrivateWeightsQuestion(rho / len(planes.heights), steepest[:, None])
        slack = dict.fromkeys(PRIVATE_STEP.summed, UNCHECKED)
        sums.append(federation.secure_sum(PRIVATE_STEP, question, slack).slope[:-1, 0] / shrunk)
    return np.array(sums)
