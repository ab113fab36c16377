"""Points on segments: where they are, what a site knows of them from the endpoints, and what is no segment at all."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.errors import FederationError
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.systems.pan_svm.cuts import Labels, Problem, Question, cuts_at
from strategies.master.packing import pack_questions

seeds = st.integers(0, 10**6)


def on_segments(seed: int, *, rank: int = 5, size: float = 1.0, leading: int = -1) -> Question:
    """Return a question with endpoints, fractions and a centre such as travel: in single precision."""
    rng = np.random.default_rng(seed)
    *endpoints, centre = (size * rng.normal(size=(4, rank + 1))).astype(np.float32).astype(np.float64)
    segment, fraction = rng.integers(0, 3, 7), rng.choice([0.0, 0.1, 0.3, 0.6, 1.0], 7)
    return Question(np.array(endpoints), centre, 1.0, leading, segment, fraction)


def test_points_lie_at_their_share_of_the_way_from_the_centre() -> None:
    endpoints = np.array([[3.0, 0.0, 1.0], [-1.0, 2.0, 4.0]])
    segment, fraction = np.array([0, 0, 0, 1]), np.array([0.0, 0.5, 1.0, 0.25])
    found = Question(endpoints, np.array([1.0, 2.0, 0.0]), segment=segment, fraction=fraction)
    assert found.points.tolist() == [[1.0, 2.0, 0.0], [2.0, 1.0, 0.5], [3.0, 0.0, 1.0], [0.5, 2.0, 1.0]]
    assert found.count == 4
    assert found.evaluated_at.tolist() == [*endpoints.tolist(), [1.0, 2.0, 0.0]]


@given(seeds, st.integers(-1, 3))
def test_sums_are_those_at_the_points_themselves(seed: int, leading: int) -> None:
    question = on_segments(seed, leading=leading)
    plain = Question(question.points, question.centre, 1.0, leading)
    rng = np.random.default_rng(seed)
    F, labels = rng.normal(size=(40, 5)), Labels(rng.choice([-1.0, 0.0, 1.0], 40), rng.random(40))
    found, expected = (cuts_at(lambda rows: F[rows], [labels], [one])[0] for one in (question, plain))
    for name in ("a", "d", "m", "loss"):
        assert getattr(found.cuts, name) == pytest.approx(getattr(expected.cuts, name), abs=1e-12)
    assert found.curvature == pytest.approx(expected.curvature, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        *(("segment", [0, wrong]) for wrong in (3, -1)),  # there are three endpoints
        *(("fraction", fractions) for fractions in ([0.5, 1.5], [0.5, -0.1], [0.5, np.nan], [0.5])),
        *(("points", [points]) for points in (3, -2, 0)),
        *(("endpoints", np.ones(17, dtype=np.float32)), ("centres", np.ones(5, dtype=np.float32))),
        *(("count", [-3]), ("rank", [10**9])),
    ],
)
def test_points_on_no_segment_are_refused(part: str, value: Any) -> None:
    two = Question(np.ones((3, 6)), np.zeros(6), segment=np.array([0, 2]), fraction=np.array([0.5, 1.0]))
    packed = pack_questions([Problem("", 5, 10.0, 1.0, Pair(1, REST))], [two])
    assert packed.questions()[0].points.tolist() == two.points.tolist()
    with pytest.raises(FederationError):
        replace(packed, **{part: np.asarray(value)}).questions()
