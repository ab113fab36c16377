"""Bounds are the same at both ends, hold for all honest rows, and leave sums exact enough."""

from typing import Any

import numpy as np
import pytest
from flwr.app import RecordDict
from hypothesis import given
from hypothesis import strategies as st

from clients.app import WORK
from flower_pansvm import messages, records
from flower_pansvm.bounds import LARGEST_CELL, MOST_ROWS, WILD, bounds_of
from flower_pansvm.cutting_planes.cuts import Question
from flower_pansvm.cutting_planes.duals import Duals, pack_duals
from flower_pansvm.cutting_planes.packing import pack_problems, pack_questions
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.errors import FederationError
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.scaling import Scaling, moments
from flower_pansvm.secure_sum.fixed_point import scale_exponent
from flower_pansvm.terms import Terms
from strategies.settings import make_settings


def request(
    weights: tuple[float, float] = (1.0, 1.0), width: float = 1.0, beta: float = 1.0
) -> dict[str, Any]:
    """Return the inputs of cuts and of sums over support vectors at once."""
    problem = Problem("", 2, 10.0, 1.0, Pair(1, REST), weights=weights)
    question = Question(np.zeros((1, 3)), 1, np.zeros(3), width, 2)
    duals = Duals(np.zeros((2, 3)), np.ones(2, dtype=np.int64), np.array([beta, -beta]))
    return {**pack_duals([duals]), **pack_problems([problem]), **pack_questions([question])}


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("scaling", ["standard", "minmax", "none"])
@pytest.mark.parametrize("task", [task for task in WORK if task.summed], ids=lambda task: task.name)
def test_every_sum_of_every_task_has_a_bound_that_survives_the_journey(
    task: messages.Task, scaling: str, kernel: str
) -> None:
    settings = make_settings(scaling=scaling, kernel=kernel)
    bounds = bounds_of(task, request(), settings.terms, 5)
    assert set(bounds) == set(task.summed)
    assert all(bound > 0 for bound in bounds.values())
    content = RecordDict()
    records.put(content, "inputs", request())
    assert bounds_of(task, records.get(content, "inputs"), settings.terms, 5) == bounds


def test_a_task_of_somebody_elses_is_without_bounds_unless_it_declares_them() -> None:
    task = messages.Task("own", "train", summed=("values", "more"), bounds={"values": 2.0})
    assert bounds_of(task, {}, Terms(), 3) == {"values": 2.0, "more": WILD}


def test_what_is_large_takes_one_word_a_number_by_default() -> None:
    """Without a bound, landmarks of many columns and curvature would be five times as many bytes."""
    one_word = {"centres", "filled"}, {"a", "curvature"}, {"weights", "count", "total", "square"}
    tasks = (messages.LANDMARKS, messages.CUTS, messages.SUPPORT)
    for task, names in zip(tasks, one_word, strict=True):
        bounds = bounds_of(task, request(), Terms(), 5)
        assert {name for name in names if bounds[name] < WILD} == names


def test_sums_are_exact_enough_to_train_to_a_gap_of_1e_9() -> None:
    """The step between two numbers of the sum, with what bounds leave for noise and many rows."""
    bounds = bounds_of(messages.CUTS, request(), Terms(), 5)
    assert 2.0 ** -scale_exponent(bounds["a"], 5) < 2e-10
    assert bounds["d"] == bounds["m"] == bounds["loss"] == WILD
    centres = bounds_of(messages.LANDMARKS, {}, Terms(), 20)["centres"]
    assert 2.0 ** -scale_exponent(centres, 20) < 1e-11
    totals = bounds_of(messages.ASSIGN, {}, Terms(), 20)["totals"]
    assert 2.0 ** -scale_exponent(totals, 20) < 1e-8


def test_curvature_keeps_its_digits_however_narrow_the_bump() -> None:
    for width in (1.0, 1e-3, 1e-9):
        bound = bounds_of(messages.CUTS, request(width=width), Terms(), 5)["curvature"]
        assert 2.0 ** -scale_exponent(bound, 5) * width < 1e-8


@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.5, 1000.0), (3.0, 0.6)])
def test_bounds_leave_room_for_the_most_rows_and_noise(weights: tuple[float, float]) -> None:
    bounds = bounds_of(messages.CUTS, request(weights, width=0.25), Terms(), 5)
    assert bounds["a"] >= 4 * MOST_ROWS * max(weights)
    assert bounds["curvature"] >= 4 * MOST_ROWS * max(weights) * 1.5 * (1 / 0.25 + 0.1)


@pytest.mark.parametrize("width", [0.0, -1e-3, float("nan")])
def test_a_width_that_is_not_positive_is_an_error(width: float) -> None:
    with pytest.raises(FederationError, match="width that is not positive"):
        bounds_of(messages.CUTS, request(width=width), Terms(), 3)


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
    sums = moments(X)
    scaled = Scaling.standard(sums["count"], sums["total"], sums["square"]).transform(X)
    # As many rows as there can be would be as far from the mean as their square root.
    slack = 1 + 1e-6
    assert np.abs(scaled).max() <= np.sqrt(rows) * slack <= LARGEST_CELL
    assert np.square(scaled).sum(axis=0).max() <= rows * slack
    assert np.abs(scaled).sum(axis=0).max() <= rows * slack


def test_dual_variables_of_both_signs_count() -> None:
    one = bounds_of(messages.SUPPORT, request(beta=1.0), Terms(), 5)["weights"]
    assert bounds_of(messages.SUPPORT, request(beta=100.0), Terms(), 5)["weights"] == 100 * one
    assert bounds_of(messages.SUPPORT, request(beta=0.0), Terms(), 5)["weights"] > 0
