"""Cutting planes: sums as the paper's loops write them, and bounds that hold everywhere."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flower_pansvm.systems.pan_svm import cuts as module
from flower_pansvm.systems.pan_svm.cuts import Answer, Cuts, Labels, Question, cuts_at
from strategies.master.packing import curvature_matrix, curvature_size

Matrix = NDArray[np.float64]


def ask(F: Matrix, y: Matrix, question: Question, weight: Matrix | None = None) -> Answer:
    labels = Labels(y, np.ones(len(y)) if weight is None else weight)
    return cuts_at(lambda rows: F[rows], [labels], [question])[0]


def cuts_of(F: Matrix, y: Matrix, points: Matrix, weight: Matrix | None = None) -> Cuts:
    # No centre travels that is not asked about.
    return ask(F, y, Question(points, np.empty(0)), weight).cuts


def curvature_of(F: Matrix, y: Matrix, centre: Matrix, width: float = 1.0, leading: int = -1) -> Matrix:
    question = Question(centre[None, :], centre, width, F.shape[1] if leading < 0 else leading)
    return ask(F, y, question).curvature


def some_rows(seed: int, rows: int, rank: int) -> tuple[Matrix, Matrix]:
    rng = np.random.default_rng(seed)
    # Rounded, so that some rows lie exactly on the margin.
    return np.round(rng.normal(size=(rows, rank)), 1), np.where(rng.random(rows) < 0.4, 1.0, -1.0)


def some_points(seed: int, points: int, rank: int) -> Matrix:
    return np.round(np.random.default_rng(seed + 1).normal(size=(points, rank + 1)), 1)


def by_the_papers_loop(F: Matrix, y: Matrix, points: Matrix) -> Cuts:
    """Algorithm 2, lines 4-8, row by row."""
    count, rank = len(points), F.shape[1]
    a, d, m, loss = np.zeros((count, rank)), np.zeros(count), np.zeros(count), np.zeros(count)
    for t, point in enumerate(points):
        w, b = point[:-1], point[-1]
        for f_i, y_i in zip(F, y, strict=True):
            margin = y_i * (w @ f_i + b)
            if margin < 1:
                a[t] += y_i * f_i
                d[t] += y_i
                m[t] += 1
                loss[t] += 1 - margin
    return Cuts(a, d, m, loss)


def hinge(F: Matrix, y: Matrix, points: Matrix, weight: Matrix | None = None) -> Matrix:
    weights = np.ones(len(y)) if weight is None else weight
    rows = list(zip(F, y, weights, strict=True))
    return np.array([sum(s * max(0.0, 1 - y_i * (p[:-1] @ f + p[-1])) for f, y_i, s in rows) for p in points])


def bounds(cuts: Cuts, points: Matrix) -> Matrix:
    """Return the value of every cut at every point, shape (points, cuts)."""
    return cuts.m - points[:, :-1] @ cuts.a.T - np.outer(points[:, -1], cuts.d)


def assert_close(found: Cuts, expected: Cuts) -> None:
    for one, other in zip(astuple(found), astuple(expected), strict=True):
        assert one == pytest.approx(other, abs=1e-9)


# The paper's cuts


@given(st.integers(0, 10**6), st.integers(0, 25), st.integers(1, 6), st.integers(0, 8))
def test_they_are_those_of_the_papers_loop(seed: int, rows: int, rank: int, points: int) -> None:
    F, y = some_rows(seed, rows, rank)
    # Values in quarters are exact, so that no row is on different sides of the margin by rounding.
    F, at = np.round(F * 4) / 4, np.round(some_points(seed, points, rank) * 4) / 4
    assert_close(cuts_of(F, y, at), by_the_papers_loop(F, y, at))


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 6), st.floats(0.01, 100))
def test_a_cut_is_tight_at_its_point_and_below_the_loss_everywhere(
    seed: int, rows: int, rank: int, size: float
) -> None:
    F, y = some_rows(seed, rows, rank)
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, size=rows)
    at, elsewhere = size * some_points(seed, 5, rank), size * some_points(seed + 2, 20, rank)
    cuts = cuts_of(F, y, at, weight)
    assert cuts.loss == pytest.approx(hinge(F, y, at, weight), rel=1e-9, abs=1e-9)
    assert np.diag(bounds(cuts, at)) == pytest.approx(cuts.loss, rel=1e-9, abs=1e-9)
    assert (bounds(cuts, elsewhere) <= hinge(F, y, elsewhere, weight)[:, None] + 1e-9 * (1 + size)).all()


# Which rows, and how much they count


@pytest.fixture
def next_to_the_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no row count for the curvature wherever it lies: which ones do depends on their numbers."""
    monkeypatch.setattr(module, "EVERYWHERE", 0.0)


@pytest.mark.usefixtures("next_to_the_margin")
@pytest.mark.parametrize("same", ["rows left out", "repeated rows", "blocks"])
@given(st.integers(0, 10**6), st.integers(0, 30), st.integers(1, 12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_may_be_left_out_weigh_as_much_as_repeated_ones_and_come_in_blocks(
    same: str, seed: int, rows: int, block: int
) -> None:
    rng = np.random.default_rng(seed)
    # Values in quarters are exact, so that no row is on different sides of the margin by rounding.
    F, at = np.round(rng.normal(size=(rows, 3)) * 4) / 4, np.round(some_points(seed, 5, 3) * 4) / 4
    y, times = rng.choice([-1.0, 0.0, 1.0], size=rows), rng.integers(0, 4, size=rows)
    question = Question(at, at[0], 2.0, leading=2)
    found = ask(F, y, question, times.astype(np.float64) if same == "repeated rows" else None)
    with pytest.MonkeyPatch.context() as patch:
        if same == "blocks":
            patch.setattr("flower_pansvm.arrays.BLOCK", block)
        kept = np.repeat(
            np.arange(rows), {"rows left out": y != 0, "repeated rows": times, "blocks": 1}[same]
        )
        expected = ask(F[kept], y[kept], question)
    assert_close(found.cuts, expected.cuts)
    assert found.curvature == pytest.approx(expected.curvature, rel=1e-5, abs=1e-6)


def test_problems_asked_together_are_answered_as_each_alone() -> None:
    F, y = some_rows(0, 30, 4)
    other = Labels(np.where(F[:, 0] > 0, -y, 0.0), np.full(30, 2.0))
    labels = [Labels(y, np.ones(30)), other, Labels(-y, np.ones(30)), other]
    asked = zip((5, 2, 3, 1), (2.0, 1.0, 1.0, 0.5), (1, -1, 4, 0), strict=True)
    questions = [
        Question(some_points(i, points, 4), np.full(5, float(i > 0)), width, leading)
        for i, (points, width, leading) in enumerate(asked)
    ]
    together = cuts_at(lambda rows: F[rows], labels, questions)
    for found, own, question in zip(together, labels, questions, strict=True):
        alone = cuts_at(lambda rows: F[rows], [own], [question])[0]
        assert_close(found.cuts, alone.cuts)
        assert found.curvature == pytest.approx(alone.curvature)
        assert len(found.curvature) == curvature_size(4, question.leading)
    assert curvature_size(4, -1) == 0


# Curvature


def smooth_gradient(F: Matrix, y: Matrix, point: Matrix, width: float) -> Matrix:
    """Return the gradient of the hinge smoothed by a triangle of the given width to each side."""
    z = np.clip((1 - y * (F @ point[:-1] + point[-1])) / width, -1, 1)
    # The integral of 1 - |z| from -1 to z.
    slope = np.where(z < 0, 0.5 * (1 + z) ** 2, 1 - 0.5 * (1 - z) ** 2)
    gradient: Matrix = -(slope * y) @ np.column_stack([F, np.ones(len(F))])
    return gradient


@pytest.mark.usefixtures("next_to_the_margin")
@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(0.1, 3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_curvature_is_the_second_derivative_of_the_smoothed_loss(
    seed: int, rank: int, width: float
) -> None:
    rng = np.random.default_rng(seed)
    F, y = rng.normal(size=(30, rank)), np.where(rng.random(30) < 0.4, 1.0, -1.0)
    centre = rng.normal(size=rank + 1)
    found = curvature_matrix(curvature_of(F, y, centre, width), rank, rank)
    step = 1e-5
    numeric = np.array(
        [
            (smooth_gradient(F, y, centre + e, width) - smooth_gradient(F, y, centre - e, width)) / (2 * step)
            for e in step * np.eye(rank + 1)
        ]
    )
    # The bump is not smooth itself: a difference may straddle one of its edges.
    assert found == pytest.approx(numeric, rel=1e-4, abs=1e-3 / width**2)


@given(st.integers(0, 10**6), st.integers(1, 8), st.data())
def test_of_the_coordinates_after_the_leading_ones_only_the_diagonal_is_sent(
    seed: int, rank: int, data: st.DataObject
) -> None:
    leading = data.draw(st.integers(0, rank))
    F, y = some_rows(seed, 30, rank)
    centre = some_points(seed, 1, rank)[0]
    whole = curvature_matrix(curvature_of(F, y, centre), rank, rank)
    numbers = curvature_of(F, y, centre, leading=leading)
    assert len(numbers) == curvature_size(rank, leading)
    assert curvature_size(rank, leading) == (leading + 1) * (leading + 2) // 2 + rank - leading
    inner = np.isin(np.arange(rank + 1), [*range(leading), rank])
    expected = np.where(np.outer(inner, inner) | np.eye(rank + 1, dtype=np.bool_), whole, 0.0)
    assert curvature_matrix(numbers, rank, leading) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_few_rows_next_to_the_margin_do_not_make_a_curvature_of_low_rank(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else it would know nothing of the other coordinates."""
    F, y = some_rows(0, 60, 12)
    centre = np.append(np.zeros(12), 0.0)
    F[:3, 0], centre[0] = y[:3], 1.0
    F[3:, 0] = -9.0 * y[3:]
    shown = curvature_matrix(curvature_of(F, y, centre, 0.5), 12, 12)
    # As many rows as there are coordinates count wherever they lie.
    assert np.linalg.matrix_rank(shown, tol=1e-4) >= 10
    monkeypatch.setattr(module, "EVERYWHERE", 0.0)
    alone = curvature_matrix(curvature_of(F, y, centre, 0.5), 12, 12)
    assert np.linalg.matrix_rank(alone, tol=1e-4) == 3


# Decisions are in double precision


def test_rows_that_single_precision_cannot_tell_are_decided_in_double() -> None:
    # 1 - y w f is 1e-12 on either side of 0: no difference in single precision.
    F, y = np.array([[1.0 - 1e-12], [1.0 + 1e-12]]), np.ones(2)
    assert cuts_of(F, y, np.array([[1.0, 0.0]])).m.tolist() == [1.0]
    assert cuts_of(F, y, np.array([[1.0, 0.0]])).loss[0] == pytest.approx(1e-12, rel=1e-3)


def test_points_beyond_single_precision_are_decided_in_double() -> None:
    F, y = np.array([[1.0, -1.0], [1.0, -0.5], [2.0, 1.0]]), np.array([1.0, 1.0, 0.0])
    cuts = cuts_of(F, y, np.array([[1e100, 1e100, 0.0], [-1e100, 0.0, 0.0]]))
    assert cuts.m.tolist() == [1.0, 2.0], "at the first point w.f is 0 for one row and large for the other"
