"""Where ``search=fast`` asks next: how the points and the curvature follow the bounds."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.systems.pan_svm.cuts import Answer, Cuts, Problem, Question
from strategies.master.curvature import curvature_size
from strategies.master.master import MasterSolution
from strategies.master.progress import Progress
from strategies.master.proximal import TRUST
from strategies.master.search import (
    FIRST_WIDTH,
    LAST_WIDTH,
    LINE,
    PATIENCE,
    SHORTEST,
    STEPS,
    PointSearch,
    leading_coordinates,
)

RANK = 3
PLENTY = math.inf
NO_START = np.empty((0, RANK + 1))


def progress_at(gap: float) -> Progress:
    """Return the progress of a problem of rank 3 with such a gap below an upper bound of 1."""
    progress = Progress(Problem("", RANK, 10.0, 1.0, Pair(1, REST)))
    progress.upper, progress.lower = 1.0, 1.0 - gap
    progress.best = np.array([1.0, 2.0, 0.0, 0.5])
    progress.master = MasterSolution(np.array([3.0, 0.0, 1.0]), 1.5, np.empty(0), 0.0, 0.0)
    return progress


def answer_to(question: Question) -> Answer:
    count = len(question.points)
    cuts = Cuts(np.zeros((count, RANK)), *np.zeros((3, count)))
    return Answer(cuts, np.ones(curvature_size(RANK, question.leading)))


def questions(gaps: Sequence[float], planes: float = PLENTY) -> list[Question]:
    """Return what it asks while the gap takes these values; less when it gives up."""
    search = PointSearch(planes=planes)
    asked = [search.first(progress_at(1.0), NO_START)]
    for gap in gaps:
        question = search.next(progress_at(gap), asked[-1], answer_to(asked[-1]))
        if question is None:
            break
        asked.append(question)
    return asked


def test_the_origin_and_the_starts_are_asked_first_and_the_curvature_at_the_last_of_them() -> None:
    starts = np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 3.0]])
    question = PointSearch(planes=PLENTY).first(progress_at(1.0), starts)
    assert question.points.tolist() == [[0.0] * 4, *starts.tolist()]
    assert question.centre.tolist() == starts[-1].tolist()
    assert (question.width, question.leading) == (FIRST_WIDTH, RANK)


def test_without_a_start_the_origin_alone_is_asked() -> None:
    question = PointSearch().first(progress_at(1.0), NO_START)
    assert question.points.tolist() == [[0.0] * 4]
    assert question.centre.tolist() == [0.0] * 4


def test_after_a_stall_points_lie_on_the_line_to_the_masters_solution() -> None:
    question = questions([0.5, 0.5], planes=0)[2]
    found = question.points
    best, target = np.array([1.0, 2.0, 0.0, 0.5]), np.array([3.0, 0.0, 1.0, 1.5])
    assert len(found) == LINE
    steps = (found - best) / (target - best)[None, :]
    assert steps == pytest.approx(np.repeat(steps[:, :1], 4, axis=1)), "the same share in each coordinate"
    assert steps[-1] == pytest.approx(1.0)
    assert steps[0] == pytest.approx(SHORTEST)
    assert np.ptp(np.diff(np.log(question.fraction))) == pytest.approx(0.0), "in geometric progression"


def test_without_a_stall_the_masters_solution_itself_is_the_only_point_of_the_line() -> None:
    found = questions([0.5], planes=0)[1].points
    assert found.tolist() == [[3.0, 0.0, 1.0, 1.5]]


def test_where_all_points_are_ends_of_ways_the_centre_need_not_be_told() -> None:
    for stalled, gaps in ((False, [0.5]), (True, [0.5, 0.5])):
        question = questions(gaps, planes=0)[-1]
        assert question.needs_centre == stalled


def test_with_a_curvature_there_are_proximal_points_besides() -> None:
    question = questions([0.5, 0.5])[2]
    assert len(question.points) == LINE + len(TRUST) * len(STEPS)
    assert question.centre.tolist() == [1.0, 2.0, 0.0, 0.5], "the best point"
    for segment in range(1, len(TRUST) + 1):
        assert question.fraction[question.segment == segment].tolist() == list(STEPS)
    assert len(questions([0.5, 0.5], planes=0)[2].points) == LINE


def test_the_width_narrows_from_round_to_round_down_to_a_last_one() -> None:
    asked = questions([0.9**i for i in range(12)])
    widths = [question.width for question in asked]
    assert widths[:4] == [FIRST_WIDTH, FIRST_WIDTH / 2, FIRST_WIDTH / 4, FIRST_WIDTH / 8]
    assert widths[-1] == LAST_WIDTH
    assert widths == sorted(widths, reverse=True)


def test_a_problem_whose_bounds_stand_still_is_given_up() -> None:
    # One that falls by a fifth now and then is not.
    falling = [0.8 ** (i // (PATIENCE - 1)) for i in range(10 * PATIENCE)]
    assert len(questions(falling)) == 10 * PATIENCE + 1
    still = [1.0, 0.5, *[0.5 - 1e-4 * i for i in range(10 * PATIENCE)]]
    assert len(questions(still)) == PATIENCE + 2


@given(st.integers(1, 2000), st.floats(0, 100))
def test_as_many_leading_coordinates_as_the_planes_allow(rank: int, planes: float) -> None:
    leading, numbers = leading_coordinates(rank, planes), planes * (rank + 1)
    assert -1 <= leading <= rank
    assert curvature_size(rank, leading) <= numbers
    if leading < rank:
        assert curvature_size(rank, leading + 1) > numbers
