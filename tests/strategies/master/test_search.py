"""When ``search=fast`` gives up, and between how many coordinates it asks for the curvature."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.systems.pan_svm.cuts import Answer, Cuts, Problem, Question
from strategies.master.master import MasterSolution
from strategies.master.packing import curvature_size, in_single_precision
from strategies.master.progress import Progress
from strategies.master.search import (
    PATIENCE,
    SHORTEST_SEGMENT,
    PointSearch,
    leading_coordinates,
    long_segments,
)

RANK = 3
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


def questions(gaps: Sequence[float]) -> list[Question]:
    """Return what it asks while the gap takes these values; less when it gives up."""
    search = PointSearch()
    asked = [search.first(progress_at(1.0), NO_START)]
    for gap in gaps:
        question = search.next(progress_at(gap), asked[-1], answer_to(asked[-1]))
        if question is None:
            break
        asked.append(question)
    return asked


def test_a_problem_whose_bounds_stand_still_is_given_up() -> None:
    # One that falls by a fifth now and then is not.
    falling = [0.8 ** (i // (PATIENCE - 1)) for i in range(10 * PATIENCE)]
    assert len(questions(falling)) == 10 * PATIENCE + 1
    still = [1.0, 0.5, *[0.5 - 1e-4 * i for i in range(10 * PATIENCE)]]
    assert len(questions(still)) == PATIENCE + 2


@given(st.integers(0, 10**6), st.floats(-13, 3))
def test_points_that_travel_in_single_precision_are_off_by_a_small_share_of_their_distance(
    seed: int, exponent: float
) -> None:
    rng = np.random.default_rng(seed)
    centre = in_single_precision(rng.normal(size=6))
    targets = centre + 10.0**exponent * rng.normal(size=(3, 6))
    endpoints, shares = long_segments(centre, targets)
    sent = Question(in_single_precision(endpoints), centre, segment=np.arange(3), fraction=shares)
    distance, off = (np.abs(targets - start).max(axis=1) for start in (centre, sent.points))
    assert (off <= 1.01 * 2.0**-24 / SHORTEST_SEGMENT * distance + 1e-15 * (1 + distance)).all()


def test_at_the_origin_and_at_the_centre_itself_segments_are_as_they_are() -> None:
    origin, targets = np.zeros(3), np.array([[0.0, 0.0, 0.0], [1e-9, 0.0, 2.0]])
    endpoints, shares = long_segments(origin, targets)
    assert (endpoints.tolist(), shares.tolist()) == (targets.tolist(), [1.0, 1.0])
    centre = np.array([[1.0, -2.0, 0.5]])
    assert long_segments(centre[0], centre)[0].tolist() == centre.tolist()


@given(st.integers(1, 2000), st.floats(0, 100))
def test_as_many_leading_coordinates_as_the_planes_allow(rank: int, planes: float) -> None:
    leading, numbers = leading_coordinates(rank, planes), planes * (rank + 1)
    assert -1 <= leading <= rank
    assert curvature_size(rank, leading) <= numbers
    if leading < rank:
        assert curvature_size(rank, leading + 1) > numbers
