"""Bounds are the same at both ends, hold for all honest rows, and leave sums exact enough."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from flwr.app import RecordDict
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm import records
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import FederationError
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.secure_sum.fixed_point import scale_exponent
from flower_pansvm.systems.admm import CONSENSUS, ConsensusQuestion
from flower_pansvm.systems.output_perturbation import RffCutsQuestion
from flower_pansvm.systems.pan_svm.cuts import Problem, Question
from flower_pansvm.systems.pan_svm.tasks import (
    CUTS,
    LANDMARKS,
    LARGEST_CELL,
    CutsQuestion,
    LandmarksQuestion,
)
from flower_pansvm.systems.selection import SUPPORT, Duals, SupportQuestion
from flower_pansvm.tasks import MOST_ROWS, UNKNOWN, Nothing, Task, bounds_of, summed
from flower_pansvm.terms import Terms
from strategies.master.packing import pack_duals, pack_problems, pack_questions
from strategies.settings import make_settings
from strategies.steps.scaling import scaling_of_rows
from tests.tasks import TASKS


def problem_of(weights: tuple[float, float] = (1.0, 1.0), rank: int = 2) -> Problem:
    return Problem("", rank, 10.0, 1.0, Pair(1, REST), weights=weights)


def cuts_asked(
    weights: tuple[float, float] = (1.0, 1.0), width: float = 1.0, coordinate: float = 0.0
) -> CutsQuestion:
    points = np.full((2, 3), coordinate) * [[0.1], [1.0]]
    return pack_questions([problem_of(weights)], [Question(points, np.zeros(3), width, 2)])


def support_asked(beta: float = 1.0) -> SupportQuestion:
    duals = Duals(np.zeros((2, 3)), np.array([beta, -beta]))
    return pack_duals([problem_of()], [duals])


def consensus_asked(point: float = 3.0, rho: float = 0.5) -> ConsensusQuestion:
    points, penalties = np.full((1, 1, 3), point, dtype=np.float32), np.full((1, 1), rho)
    return ConsensusQuestion(**vars(pack_problems([problem_of()])), first=0, points=points, rho=penalties)


QUESTIONS: dict[str, Any] = {
    "landmarks": LandmarksQuestion(np.array([-1]), np.ones(1), 3, 9, 2, 0),
    "warm_start": pack_problems([problem_of()]),
    "cuts": cuts_asked(),
    "support": support_asked(),
    "consensus": consensus_asked(),
    "rff_cuts": RffCutsQuestion(np.zeros((1, 2)), np.zeros(2, dtype=np.float32), 1.0),
    "scores": None,
}
"""A question of each task that asks for something; none of a task whose bounds do not look at it."""


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("scaling", ["standard", "minmax", "none"])
@pytest.mark.parametrize("task", [task for task in TASKS if task.summed], ids=lambda task: task.name)
def test_every_sum_of_every_task_has_a_bound_that_survives_the_journey(
    task: Task[Any, Any], scaling: str, kernel: str
) -> None:
    settings, question = make_settings(scaling=scaling, kernel=kernel), QUESTIONS.get(task.name) or Nothing()
    bounds = bounds_of(task, question, settings.terms, 5)
    assert set(bounds) == set(task.summed)
    assert all(bound > 0 for bound in bounds.values())
    content = RecordDict()
    records.write(content, "inputs", question)
    again = records.read(content, "inputs", type(question))
    assert bounds_of(task, again, settings.terms, 5) == bounds


def test_a_task_of_somebody_elses_is_without_bounds_unless_it_declares_them() -> None:
    @dataclass(frozen=True)
    class Answer:
        values: Floats = summed(2.0)
        more: Floats = summed()

    task = Task("own", "train", Nothing, Answer)
    assert bounds_of(task, Nothing(), Terms(), 3) == {"values": 2.0, "more": UNKNOWN}


def test_what_is_large_takes_one_word_a_number_by_default() -> None:
    """Without a bound, landmarks of many columns and curvature would be five times as many bytes."""
    for task in (LANDMARKS, CUTS, SUPPORT):
        bounds = bounds_of(task, QUESTIONS[task.name], Terms(), 5)
        assert max(bounds.values()) < UNKNOWN


def test_sums_are_exact_enough_to_train_to_a_gap_of_1e_9() -> None:
    """The step between two numbers of the sum, with what bounds leave for many rows."""
    bounds = bounds_of(CUTS, cuts_asked(), Terms(), 5)
    assert 2.0 ** -scale_exponent(bounds["a"], 5) < 2e-10
    assert 2.0 ** -scale_exponent(bounds["d"], 5) < 2e-10
    # Slopes that are off by so much in each coordinate put a plane off by as much.
    far = bounds_of(CUTS, cuts_asked(coordinate=100.0), Terms(), 5)
    for height in ("m", "loss"):
        assert 2.0 ** -scale_exponent(bounds[height], 5) < 2e-10
        assert 2.0 ** -scale_exponent(far[height], 5) < 2e-10 * 300 * 2
    centres = bounds_of(LANDMARKS, QUESTIONS["landmarks"], Terms(), 20)["centres"]
    assert 2.0 ** -scale_exponent(centres, 20) < 1e-11
    # Curvature keeps its digits however narrow the bump.
    for width in (1.0, 1e-3, 1e-9):
        bound = bounds_of(CUTS, cuts_asked(width=width), Terms(), 5)["curvature"]
        assert 2.0 ** -scale_exponent(bound, 5) * width < 1e-8


@pytest.mark.parametrize("point", [0.0, -40.0])
@pytest.mark.parametrize("rho", [1e-3, 1.0, 1e3])
def test_models_of_as_many_rows_as_a_site_may_have_stay_within_their_bound(point: float, rho: float) -> None:
    """X + y / rho is the point and, for each row, at most C / rho times a vector that is no longer than sqrt(2)."""
    bound = bounds_of(CONSENSUS, consensus_asked(point, rho), Terms(), 5)["models"]
    assert abs(point) + MOST_ROWS / rho * np.sqrt(2) < bound < UNKNOWN
    # Exact enough for residuals of 1e-5, whatever the penalty draws the models by.
    assert 2.0 ** -scale_exponent(bound, 5) < 1e-9 * max(1.0, 1.0 / rho)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.5, 1000.0), (3.0, 0.6)])
@pytest.mark.parametrize("coordinate", [0.0, 0.3, -1e4])
def test_bounds_leave_room_for_the_most_rows(weights: tuple[float, float], coordinate: float) -> None:
    bounds, rows = (
        bounds_of(CUTS, cuts_asked(weights, 0.25, coordinate), Terms(), 5),
        MOST_ROWS * max(weights),
    )
    # And for rounding, but no more than a bit of it.
    for name, most in (("a", 1.0), ("d", 1.0), ("curvature", 1 / 0.25 + 0.1)):
        assert rows * most < bounds[name] <= 2 * rows * most
    # A row's loss is largest where it looks along the point: f is no longer than 1, and the bias's factor is 1.
    assert bounds["loss"] >= 1.5 * rows * (1 + np.linalg.norm(np.full(2, coordinate)) + abs(coordinate))
    assert bounds["m"] >= 1.5 * rows


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_of_heights_is_that_of_the_longest_point_rounded_once_on_a_segment_too(seed: int) -> None:
    """Of points that are as long but for rounding, too: both ends have to find the same one."""
    generator = np.random.default_rng(seed)
    points = np.vstack([generator.permutation(generator.normal(size=40)) for _ in range(3)])
    points = np.vstack([points, generator.permuted(np.tile(points[0], (30, 1)), axis=1)])
    segment, fraction = generator.integers(0, 3, 20), generator.random(20)
    on_segments = Question(points[:3], points[3], segment=segment, fraction=fraction)
    for question in (Question(points, np.zeros(40), 1.0, 39), on_segments):
        asked = pack_questions([problem_of(rank=39)], [question])
        (sent,) = asked.questions()
        longest = max(math.fsum(point * point) for point in sent.evaluated_at)
        bounds = bounds_of(CUTS, asked, Terms(), 5)
        assert bounds["m"] == bounds["loss"] == bounds["a"] * (1.0 + 2.0 * math.sqrt(longest))
        assert np.linalg.norm(sent.points, axis=1).max() <= math.sqrt(longest) * (1.0 + 1e-6)


def test_heights_of_an_unbounded_kernel_are_without_bounds() -> None:
    bounds = bounds_of(CUTS, cuts_asked(), make_settings(kernel="linear").terms, 5)
    assert {name for name, bound in bounds.items() if bound < UNKNOWN} == {"d"}


@pytest.mark.parametrize("width", [0.0, -1e-3, float("nan")])
def test_a_width_that_is_not_positive_is_an_error_of_any_problem(width: float) -> None:
    questions = [Question(np.zeros((1, 3)), np.zeros(3), own, 2) for own in (1.0, width)]
    with pytest.raises(FederationError):
        bounds_of(CUTS, pack_questions([problem_of()] * 2, questions), Terms(), 3)


@given(
    seed=st.integers(0, 2**20),
    rows=st.integers(2, 60),
    outlier=st.floats(-1e9, 1e9),
    missing=st.floats(0.0, 0.9),
)
def test_no_honest_row_breaks_the_bounds_of_scaled_cells(
    seed: int, rows: int, outlier: float, missing: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)) * 10.0 ** rng.integers(-6, 6, size=4)
    X[0, 0] += outlier
    X[rng.random(X.shape) < missing] = np.nan
    scaled = scaling_of_rows("standard", X).transform(X)
    # As many rows as there can be would be as far from the mean as their square root.
    slack = 1 + 1e-6
    assert np.abs(scaled).max() <= np.sqrt(rows) * slack <= LARGEST_CELL
    assert np.square(scaled).sum(axis=0).max() <= rows * slack
    assert np.abs(scaled).sum(axis=0).max() <= rows * slack


@pytest.mark.parametrize("sites", [2, 5, 64])
def test_bounds_of_sums_over_support_vectors_are_those_of_the_most_rows_and_rounding(sites: int) -> None:
    """The squares of a column add up to the number of all rows, and one site may have the largest of them."""
    support = bounds_of(SUPPORT, support_asked(), Terms(), sites)
    assert support["count"] == MOST_ROWS
    for name, largest in (("total", MOST_ROWS * math.sqrt(sites)), ("square", float(MOST_ROWS * sites))):
        assert largest < support[name] <= 2 * largest
    # Dual variables of both signs count.
    weights = [bounds_of(SUPPORT, support_asked(beta), Terms(), sites)["weights"] for beta in (0.0, 100.0)]
    assert weights[0] > 0
    assert weights[1] == 100 * support["weights"]
