"""Where the preset ``private`` asks next: how the points, the blur and the curvature follow the bounds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.cutting_planes.cuts import Answer, Cuts
from flower_pansvm.cutting_planes.noise import Noise
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.cutting_planes.question import Question
from flower_pansvm.multiclass import REST, Pair
from strategies.master.curvature import curvature_size
from strategies.master.master import MasterSolution
from strategies.master.progress import Progress
from strategies.master.proximal import TRUST, WIDER_TRUST
from strategies.master.search import (
    FIRST_WIDTH,
    LAST_WIDTH,
    LINE,
    LINE_WITH_NOISE,
    PATIENCE,
    PATIENCE_WITH_NOISE,
    STEPS,
    PointSearch,
    leading_coordinates,
    line_steps,
)

RANK = 3
PLENTY = 1000
NO_START = np.empty((0, RANK + 1))


EXACT = Problem("", RANK, 10.0, 1.0, Pair(1, REST))


def progress_at(gap: float, problem: Problem = EXACT) -> Progress:
    """Return the progress of a problem of rank 3 with such a gap below an upper bound of 1."""
    progress = Progress(problem)
    progress.upper, progress.lower = 1.0, 1.0 - gap
    progress.best = np.array([1.0, 2.0, 0.0, 0.5])
    progress.master = MasterSolution(np.array([3.0, 0.0, 1.0]), 1.5, np.empty(0), 0.0, 0.0)
    return progress


def answer_to(question: Question) -> Answer:
    count = len(question.points)
    cuts = Cuts(np.zeros((count, RANK)), *np.zeros((3, count)))
    return Answer(cuts, np.ones(curvature_size(RANK, question.leading)))


def questions(
    gaps: Sequence[float], search: PointSearch, numbers: int = PLENTY, problem: Problem = EXACT
) -> list[Question]:
    """Return what a search asks while the gap takes these values; less when it gives up."""
    asked = [search.first(progress_at(1.0, problem), NO_START, numbers)]
    for gap in gaps:
        question = search.next(progress_at(gap, problem), asked[-1], answer_to(asked[-1]), numbers)
        if question is None:
            break
        asked.append(question)
    return asked


def test_the_origin_and_the_starts_are_asked_first_and_the_curvature_at_the_last_of_them() -> None:
    starts = np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 3.0]])
    question = PointSearch(8, 5).first(progress_at(1.0), starts, PLENTY)
    assert question.points.tolist() == [[0.0] * 4, *starts.tolist()]
    assert question.centre.tolist() == starts[-1].tolist()
    assert (question.blur, question.width, question.leading) == (5, FIRST_WIDTH, RANK)


def test_without_a_start_the_origin_alone_is_asked() -> None:
    question = PointSearch(8, 5).first(progress_at(1.0), NO_START, PLENTY)
    assert question.points.tolist() == [[0.0] * 4]
    assert question.centre.tolist() == [0.0] * 4


@pytest.mark.parametrize("points", [1, 2, 8])
def test_after_a_stall_points_lie_on_the_line_to_the_masters_solution(points: int) -> None:
    question = questions([0.5, 0.5], PointSearch(points, 0), numbers=0)[2]
    found = question.points
    best, target = np.array([1.0, 2.0, 0.0, 0.5]), np.array([3.0, 0.0, 1.0, 1.5])
    assert len(found) == points
    steps = (found - best) / (target - best)[None, :] if points else np.empty(0)
    assert steps == pytest.approx(np.repeat(steps[:, :1], 4, axis=1)), "the same share in each coordinate"
    assert steps[-1] == pytest.approx(1.0)
    if points > 1:
        assert steps[0] == pytest.approx(LINE[0])
        assert np.ptp(np.diff(np.log(question.share))) == pytest.approx(0.0), "in geometric progression"


def test_noise_takes_more_and_shorter_steps() -> None:
    for noise, (first, usual) in ((False, LINE), (True, LINE_WITH_NOISE)):
        steps = line_steps(None, noise)
        assert (len(steps), steps[0], steps[-1]) == (usual, pytest.approx(first), 1.0)
        assert line_steps(1, noise).tolist() == [1.0]


def test_without_a_stall_the_masters_solution_itself_is_the_only_point_of_the_line() -> None:
    found = questions([0.5], PointSearch(8, 0), numbers=0)[1].points
    assert found.tolist() == [[3.0, 0.0, 1.0, 1.5]]


def test_where_all_points_are_ends_of_ways_the_centre_need_not_be_told() -> None:
    for stalled, gaps in ((False, [0.5]), (True, [0.5, 0.5])):
        question = questions(gaps, PointSearch(8, 0), numbers=0)[-1]
        assert question.needs_centre == stalled


def test_with_a_curvature_there_are_proximal_points_besides() -> None:
    question = questions([0.5, 0.5], PointSearch(6, 0))[2]
    assert len(question.points) == 6 + len(TRUST) * len(STEPS)
    assert question.centre.tolist() == [1.0, 2.0, 0.0, 0.5], "the best point"
    for way in range(1, len(TRUST) + 1):
        assert question.share[question.way == way].tolist() == list(STEPS)
    assert len(questions([0.5, 0.5], PointSearch(6, 0), numbers=RANK)[2].points) == 6


def test_with_noise_in_the_sums_no_curvature_is_asked_for_and_that_of_synthetic_rows_gives_the_points() -> (
    None
):
    synthetic = np.random.default_rng(0).normal(size=(6, RANK)).astype(np.float32)
    for own, ways in ((synthetic, len(WIDER_TRUST)), (None, 0)):
        hidden = Problem("", RANK, 10.0, 1.0, Pair(1, REST), noise=Noise(np.ones(RANK + 1)), synthetic=own)
        asked = questions([0.5, 0.5, 0.1], PointSearch(6, 0), problem=hidden)
        assert [question.leading for question in asked] == [-1] * 4
        assert [len(question.points) for question in asked] == [
            1,
            *(n + ways * len(STEPS) for n in (1, 6, 1)),
        ]
    few = questions([0.5], PointSearch(6, 0), numbers=RANK, problem=replace(hidden, synthetic=synthetic))
    assert len(few[1].points) == 1, "no room for a curvature"


def test_the_blur_is_halved_when_a_round_leaves_most_of_the_gap() -> None:
    asked = questions([1.0, 0.6, 0.59, 0.58, 0.2, 0.19, 0.18], PointSearch(8, 20))
    assert [question.blur for question in asked] == [20, 20, 20, 10, 5, 5, 2, 1]


@given(st.integers(0, 100), st.lists(st.floats(1e-9, 1.0), max_size=14))
def test_the_blur_never_grows_nor_falls_below_1_unless_none_is_wanted(blur: int, gaps: list[float]) -> None:
    blurs = [question.blur for question in questions(gaps, PointSearch(8, blur))]
    assert blurs == sorted(blurs, reverse=True)
    assert min(blurs) >= min(1, blur)
    assert blurs[0] == blur


def test_the_width_narrows_from_round_to_round_down_to_a_last_one() -> None:
    asked = questions([0.9**i for i in range(12)], PointSearch(8, 1))
    widths = [question.width for question in asked]
    assert widths[:4] == [FIRST_WIDTH, FIRST_WIDTH / 2, FIRST_WIDTH / 4, FIRST_WIDTH / 8]
    assert widths[-1] == LAST_WIDTH
    assert widths == sorted(widths, reverse=True)


def test_a_problem_whose_bounds_stand_still_is_given_up() -> None:
    # One that falls by a fifth now and then is not.
    falling = [0.8 ** (i // (PATIENCE - 1)) for i in range(10 * PATIENCE)]
    assert len(questions(falling, PointSearch(8, 4))) == 10 * PATIENCE + 1
    still = [1.0, 0.5, *[0.5 - 1e-4 * i for i in range(10 * PATIENCE)]]
    assert len(questions(still, PointSearch(8, 4))) == PATIENCE + 2


@pytest.mark.parametrize("negative", [-0.1, 0.0])
def test_a_problem_whose_bounds_noise_has_crossed_is_given_up(negative: float) -> None:
    """Iris once took all 1000 round trips: its noise is too large for its bounds to count as met."""
    crossed = [1.0, 0.5, *[negative] * (10 * PATIENCE)]
    assert len(questions(crossed, PointSearch(8, 4))) == PATIENCE_WITH_NOISE + 3


def test_the_curvature_follows_the_share_of_the_message() -> None:
    search, progress = PointSearch(8, 1), progress_at(0.5)
    question = search.first(progress, NO_START, curvature_size(RANK, 1))
    assert question.leading == 1
    later = search.next(progress, question, answer_to(question), curvature_size(RANK, 3))
    assert later is not None
    assert later.leading == 3


@given(st.integers(1, 2000), st.integers(0, 3_000_000))
def test_as_many_leading_coordinates_as_the_share_allows(rank: int, numbers: int) -> None:
    leading = leading_coordinates(rank, numbers)
    assert -1 <= leading <= rank
    assert curvature_size(rank, leading) <= numbers
    if leading < rank:
        assert curvature_size(rank, leading + 1) > numbers


@given(st.integers(1, 500), st.integers(0, 200_000), st.integers(0, 200_000))
def test_a_larger_share_never_means_fewer_leading_coordinates(rank: int, one: int, other: int) -> None:
    assert leading_coordinates(rank, min(one, other)) <= leading_coordinates(rank, max(one, other))
