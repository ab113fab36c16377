"""Cutting planes: sums as the paper's loops write them, bounds that hold everywhere, and what is drawn at random."""

import hashlib
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flower_pansvm.cutting_planes import cuts as module
from flower_pansvm.cutting_planes.cuts import EVERYWHERE, Answer, Cuts, Labels, cuts_at
from flower_pansvm.cutting_planes.question import Question
from strategies.master.curvature import curvature_matrix, curvature_size

Matrix = NDArray[np.float64]


def drawn(purpose: str, count: int) -> Matrix:
    """Return random numbers that are the same for the same purpose, and begin in the same way for any count."""
    seed = int.from_bytes(hashlib.sha256(purpose.encode()).digest()[:8])
    return np.random.default_rng(seed).random(count)


def in_the_middle(purpose: str, count: int) -> Matrix:
    """Return 1/2 for all, so that the jitter of the curvature is 1, and so much that no row counts everywhere."""
    return np.full(count, np.inf if purpose.endswith("everywhere") else 0.5)


def ask(
    F: Matrix, y: Matrix, question: Question, weight: Matrix | None = None, draw: module.Draw = drawn
) -> Answer:
    labels = Labels(y, np.ones(len(y)) if weight is None else weight)
    return cuts_at(lambda rows: F[rows], [labels], [question], [draw])[0]


def cuts_of(F: Matrix, y: Matrix, points: Matrix, blur: int = 0, weight: Matrix | None = None) -> Cuts:
    return ask(F, y, Question(points, blur, points[0] if len(points) else np.empty(0)), weight).cuts


def curvature_of(
    F: Matrix, y: Matrix, centre: Matrix, width: float = 1.0, leading: int = -1, draw: module.Draw = drawn
) -> Matrix:
    question = Question(centre[None, :], 0, centre, width, F.shape[1] if leading < 0 else leading)
    return ask(F, y, question, draw=draw).curvature


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


def factors_of(cuts: Cuts, y: Matrix) -> Matrix:
    """Return c, shape (points, rows), of cuts over rows that are the unit vectors."""
    return cuts.a * y


# The paper's cuts


def test_by_hand() -> None:
    F, y = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), np.array([1.0, -1.0, 1.0])
    # Margins at w = (1, 1), b = -1: 0, -1 and 2.
    cuts = cuts_of(F, y, np.array([[1.0, 1.0, -1.0]]))
    assert cuts.a.tolist() == [[1.0, -2.0]]
    assert (cuts.d.tolist(), cuts.m.tolist(), cuts.loss.tolist()) == ([0.0], [2.0], [3.0])


def test_at_the_origin_every_row_is_in() -> None:
    F, y = some_rows(0, 30, 4)
    cuts = cuts_of(F, y, np.zeros((1, 5)))
    assert cuts.a[0] == pytest.approx(y @ F)
    assert (cuts.d[0], cuts.m[0], cuts.loss[0]) == (y.sum(), 30, 30)


def test_a_row_on_the_margin_is_out() -> None:
    cuts = cuts_of(np.array([[1.0]]), np.array([1.0]), np.array([[2.0, -1.0], [2.0, -1.0 - 1e-12]]))
    assert cuts.m.tolist() == [0.0, 1.0]
    assert cuts.loss[0] == 0


@given(st.integers(0, 10**6), st.integers(0, 25), st.integers(1, 6), st.integers(0, 8))
def test_without_blur_they_are_those_of_the_papers_loop(seed: int, rows: int, rank: int, points: int) -> None:
    F, y = some_rows(seed, rows, rank)
    # Values in quarters are exact, so that no row is on different sides of the margin by rounding.
    F, at = np.round(F * 4) / 4, np.round(some_points(seed, points, rank) * 4) / 4
    assert_close(cuts_of(F, y, at), by_the_papers_loop(F, y, at))


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 6), st.floats(0.01, 100))
def test_without_blur_a_cut_is_tight_at_its_point(seed: int, rows: int, rank: int, size: float) -> None:
    F, y = some_rows(seed, rows, rank)
    at = size * some_points(seed, 5, rank)
    cuts = cuts_of(F, y, at)
    assert cuts.loss == pytest.approx(hinge(F, y, at), rel=1e-9, abs=1e-9)
    assert np.diag(bounds(cuts, at)) == pytest.approx(cuts.loss, rel=1e-9, abs=1e-9)


@given(st.integers(0, 10**6), st.lists(st.integers(0, 40), max_size=4))
def test_sums_over_sites_are_those_of_the_pooled_rows(seed: int, borders: list[int]) -> None:
    F, y = some_rows(seed, 40, 3)
    # Off the margin: whether a row exactly on it counts as inside is up to the rounding of a matrix product, and that
    # differs with the number of rows.
    at = some_points(seed, 6, 3) + 1e-3 * np.random.default_rng(seed).random((6, 4))
    parts = [
        astuple(cuts_of(*site, at))
        for site in zip(np.split(F, sorted(borders)), np.split(y, sorted(borders)), strict=True)
    ]
    total = Cuts(*(np.sum(part, axis=0) for part in zip(*parts, strict=True)))
    assert_close(total, cuts_of(F, y, at))


def test_a_site_without_rows_sends_zeros() -> None:
    question = Question(some_points(0, 4, 3), 2, np.zeros(4), leading=2)
    answer = ask(np.empty((0, 3)), np.empty(0), question)
    assert answer.cuts.a.tolist() == np.zeros((4, 3)).tolist()
    assert answer.cuts.d.tolist() == answer.cuts.m.tolist() == answer.cuts.loss.tolist() == [0.0] * 4
    assert answer.curvature.tolist() == [0.0] * curvature_size(3, 2)


# Blur


@given(st.integers(0, 10**6), st.integers(0, 25), st.integers(1, 6), st.integers(0, 30), st.floats(0.01, 100))
def test_a_blurred_cut_is_below_the_loss_everywhere(
    seed: int, rows: int, rank: int, blur: int, size: float
) -> None:
    F, y = some_rows(seed, rows, rank)
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, size=rows)
    at, elsewhere = some_points(seed, 5, rank), size * some_points(seed + 2, 20, rank)
    cuts = cuts_of(F, y, at, blur, weight)
    assert cuts.loss == pytest.approx(hinge(F, y, at, weight), abs=1e-9), "the loss is exact"
    below = np.vstack([at, elsewhere])
    rounding = 1e-9 * (1 + size)
    assert (bounds(cuts, below) <= hinge(F, y, below, weight)[:, None] + rounding).all()


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(0, 35))
def test_only_the_rows_nearest_the_margin_have_another_c_than_0_or_1(seed: int, rows: int, blur: int) -> None:
    rng = np.random.default_rng(seed)
    y, at = np.where(rng.random(rows) < 0.5, 1.0, -1.0), rng.normal(size=(6, rows + 1))
    plain, blurred = (factors_of(cuts_of(np.eye(rows), y, at, rows_), y) for rows_ in (0, blur))
    z = 1 - y * (at[:, :-1] + at[:, -1:])
    assert (plain == (z > 0)).all()
    changed = (blurred != 0) & (blurred != 1)
    assert (changed.sum(axis=1) == min(blur, rows)).all()
    assert ((blurred >= 0) & (blurred <= 1)).all()
    assert (blurred[~changed] == plain[~changed]).all()
    nearest = np.argsort(np.abs(z), axis=1)[:, :blur]
    assert np.take_along_axis(changed, nearest, axis=1).all()


def test_d_and_m_are_blurred_as_a_is() -> None:
    rng = np.random.default_rng(0)
    y, weight = np.where(rng.random(12) < 0.5, 1.0, -1.0), rng.uniform(0.5, 2.0, size=12)
    cuts = cuts_of(np.eye(12), y, rng.normal(size=(5, 13)), blur=4, weight=weight)
    c = factors_of(cuts, y)
    assert cuts.m == pytest.approx(c.sum(axis=1))
    assert cuts.d == pytest.approx(c @ y)
    assert (c / weight <= 1).all()


def test_c_is_drawn_afresh_for_every_row_and_point_from_all_of_0_to_1() -> None:
    rng = np.random.default_rng(0)
    y, at = np.ones(20), 0.1 * rng.normal(size=(300, 21))
    c = factors_of(cuts_of(np.eye(20), y, at, blur=20), y)
    assert len(np.unique(c)) == c.size
    assert np.histogram(c, bins=4, range=(0, 1))[0] == pytest.approx(c.size / 4, rel=0.1)


def test_the_same_point_gives_the_same_cut_whatever_is_asked_besides() -> None:
    F, y = some_rows(0, 30, 4)
    at = some_points(0, 6, 4)
    together, again = cuts_of(F, y, at, blur=5), cuts_of(F, y, at[::-1], blur=5)
    assert_close(Cuts(*(part[::-1] for part in astuple(again))), together)


def test_at_the_same_point_one_row_more_is_blurred_by_draws_of_its_own() -> None:
    # If the two cuts differed in the c of one row alone, they would give it away.
    y, at = np.ones(12), np.random.default_rng(0).normal(size=(1, 13))
    c = [factors_of(cuts_of(np.eye(12), y, at, blur), y)[0] for blur in (3, 4)]
    assert np.count_nonzero(c[0] != c[1]) == 4


# Which rows, and how much they count


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(0, 8))
def test_rows_that_are_not_in_the_problem_have_no_part(seed: int, rows: int, blur: int) -> None:
    rng = np.random.default_rng(seed)
    F, y = rng.normal(size=(rows, 3)), rng.choice([-1.0, 0.0, 1.0], size=rows)
    question = Question(some_points(seed, 5, 3), blur, some_points(seed, 1, 3)[0], 2.0, leading=2)
    found = ask(F, y, question, draw=in_the_middle)
    expected = ask(F[y != 0], y[y != 0], question, draw=in_the_middle)
    assert_close(found.cuts, expected.cuts)
    assert found.curvature == pytest.approx(expected.curvature, rel=1e-5, abs=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 20))
def test_a_weight_is_as_good_as_repeated_rows(seed: int, rows: int) -> None:
    F, y = some_rows(seed, rows, 3)
    # Values in quarters are exact, so that no row is on different sides of the margin by rounding.
    F, at = np.round(F * 4) / 4, np.round(some_points(seed, 5, 3) * 4) / 4
    times = np.random.default_rng(seed).integers(0, 4, size=rows)
    question = Question(at, 0, at[0], 2.0, leading=2)
    found = ask(F, y, question, times.astype(np.float64), in_the_middle)
    expected = ask(np.repeat(F, times, axis=0), np.repeat(y, times), question, draw=in_the_middle)
    assert_close(found.cuts, expected.cuts)
    assert found.curvature == pytest.approx(expected.curvature, rel=1e-5, abs=1e-6)


@given(st.integers(0, 10**6), st.integers(0, 40), st.integers(1, 12), st.integers(0, 9))
def test_blocks_make_no_difference(seed: int, rows: int, block: int, blur: int) -> None:
    rng = np.random.default_rng(seed)
    F, y = rng.normal(size=(rows, 4)), rng.choice([-1.0, 0.0, 1.0], size=rows)
    question = Question(rng.normal(size=(5, 5)), blur, rng.normal(size=5), 2.0, leading=3)
    whole = ask(F, y, question)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        parts = ask(F, y, question)
    assert_close(parts.cuts, whole.cuts)
    assert parts.curvature == pytest.approx(whole.curvature, rel=1e-5, abs=1e-6)


def test_rows_are_mapped_a_block_at_a_time_for_all_problems_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 10)
    F, y = some_rows(0, 35, 3)
    asked: list[int] = []

    def mapped(rows: slice | NDArray[np.int64]) -> Matrix:
        asked.append(len(F[rows]))
        return F[rows]

    labels = [Labels(y, np.ones(35)), Labels(-y, np.ones(35))]
    cuts_at(mapped, labels, [Question(np.zeros((2, 4)), 0, np.zeros(4))] * 2, [drawn] * 2)
    assert asked == [10, 10, 10, 5]
    asked.clear()
    cuts_at(mapped, labels, [Question(np.zeros((2, 4)), 1, np.zeros(4))] * 2, [drawn] * 2)
    assert max(asked) == 10, "of the blurred rows at most one for each point is mapped again"


def test_problems_asked_together_are_answered_as_each_alone() -> None:
    F, y = some_rows(0, 30, 4)
    labels = [Labels(y, np.ones(30)), Labels(np.where(F[:, 0] > 0, -y, 0.0), np.full(30, 2.0))]
    labels += [Labels(-y, np.ones(30)), labels[1]]
    questions = [
        Question(some_points(0, 5, 4), 3, np.zeros(5), 2.0, leading=1),
        Question(some_points(1, 2, 4), 0, np.ones(5)),
        Question(some_points(2, 3, 4), 1, np.ones(5), 1.0, leading=4),
        Question(some_points(3, 1, 4), 2, np.ones(5), 0.5, leading=0),
    ]
    draws = [drawn, in_the_middle, drawn, drawn]
    together = cuts_at(lambda rows: F[rows], labels, questions, draws)
    for i, draw in enumerate(draws):
        alone = cuts_at(lambda rows: F[rows], [labels[i]], [questions[i]], [draw])[0]
        assert_close(together[i].cuts, alone.cuts)
        assert together[i].curvature == pytest.approx(alone.curvature)


# Curvature


def smooth_gradient(F: Matrix, y: Matrix, point: Matrix, width: float) -> Matrix:
    """Return the gradient of the hinge smoothed by a triangle of the given width to each side."""
    z = np.clip((1 - y * (F @ point[:-1] + point[-1])) / width, -1, 1)
    # The integral of 1 - |z| from -1 to z.
    slope = np.where(z < 0, 0.5 * (1 + z) ** 2, 1 - 0.5 * (1 - z) ** 2)
    gradient: Matrix = -(slope * y) @ np.column_stack([F, np.ones(len(F))])
    return gradient


@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(0.1, 3))
def test_the_curvature_is_the_second_derivative_of_the_smoothed_loss(
    seed: int, rank: int, width: float
) -> None:
    rng = np.random.default_rng(seed)
    F, y = rng.normal(size=(30, rank)), np.where(rng.random(30) < 0.4, 1.0, -1.0)
    centre = rng.normal(size=rank + 1)
    found = curvature_matrix(curvature_of(F, y, centre, width, draw=in_the_middle), rank, rank)
    step = 1e-5
    numeric = np.array(
        [
            (smooth_gradient(F, y, centre + e, width) - smooth_gradient(F, y, centre - e, width)) / (2 * step)
            for e in step * np.eye(rank + 1)
        ]
    )
    # The bump is not smooth itself: a difference may straddle one of its edges.
    assert found == pytest.approx(numeric, rel=1e-4, abs=1e-3 / width**2)


def test_the_curvature_with_its_jitter_summed_row_by_row() -> None:
    rng = np.random.default_rng(1)
    F, y, weight = (
        rng.normal(size=(40, 3)),
        np.where(rng.random(40) < 0.4, 1.0, -1.0),
        rng.uniform(1, 2, size=40),
    )
    centre, width = rng.normal(size=4), 1.5
    used: list[Matrix] = []

    def draw(purpose: str, count: int) -> Matrix:
        used.append(drawn(purpose, count))
        return used[-1]

    question = Question(np.empty((0, 4)), 0, centre, width, leading=3)
    found = curvature_matrix(ask(F, y, question, weight, draw).curvature, 3, 3)
    jitter, everywhere = used
    expected = np.zeros((4, 4))
    # Four coordinates: about as many of the 40 rows count wherever they are.
    floor = np.where(everywhere < 4 / 40, EVERYWHERE, 0.0)
    assert np.count_nonzero(floor) > 0
    for f, y_i, s, r, e in zip(np.column_stack([F, np.ones(40)]), y, weight, jitter, floor, strict=True):
        z = 1 - y_i * (f @ centre)
        expected += s * (0.5 + r) * (max(0.0, 1 - abs(z) / width) / width + e) * np.outer(f, f)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_the_jitter_is_the_same_for_the_same_centre_and_width_only() -> None:
    F, y = some_rows(0, 30, 3)
    centre = some_points(0, 1, 3)[0]
    one = curvature_of(F, y, centre)
    assert (curvature_of(F, y, centre) == one).all()
    # A width that is too little wider for the bump, and yet all rows have another jitter.
    assert curvature_of(F, y, centre, 1.0 + 1e-12) != pytest.approx(one, rel=1e-3)
    assert curvature_of(F, y, centre + 1e-12) != pytest.approx(one, rel=1e-3)
    fewer = curvature_of(F, y, centre, leading=2)
    assert curvature_matrix(fewer, 3, 2)[:2, :2] == pytest.approx(
        curvature_matrix(one, 3, 3)[:2, :2], rel=1e-6
    )


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


def test_few_rows_next_to_the_margin_do_not_make_a_curvature_of_low_rank() -> None:
    """Else it would say which space the f of these rows span, and they could be found there."""
    F, y = some_rows(0, 60, 12)
    centre = np.append(np.zeros(12), 0.0)
    F[:3, 0], centre[0] = y[:3], 1.0
    F[3:, 0] = -9.0 * y[3:]
    shown = curvature_matrix(curvature_of(F, y, centre, 0.5), 12, 12)
    alone = curvature_matrix(curvature_of(F, y, centre, 0.5, draw=in_the_middle), 12, 12)
    assert np.linalg.matrix_rank(alone, tol=1e-4) == 3
    # As many rows as there are coordinates count wherever they lie, give or take the draw.
    assert np.linalg.matrix_rank(shown, tol=1e-4) >= 10


def test_the_layout_of_a_curvature() -> None:
    assert curvature_matrix(np.array([1.0, 2.0, 3.0, 40.0, 50.0]), 3, 1).tolist() == [
        [1, 0, 0, 2],
        [0, 40, 0, 0],
        [0, 0, 50, 0],
        [2, 0, 0, 3],
    ]


def test_no_curvature_is_sent_unless_it_is_asked_for() -> None:
    F, y = some_rows(0, 20, 3)
    assert len(ask(F, y, Question(np.zeros((1, 4)), 0, np.empty(0))).curvature) == 0
    assert curvature_size(3, -1) == 0


# Single precision


@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(-3, 6), st.floats(-3, 3))
def test_single_precision_is_off_by_no_more_than_is_said(
    seed: int, rank: int, log_points: float, log_rows: float
) -> None:
    rng = np.random.default_rng(seed)
    F, points = (
        10.0**log_rows * rng.normal(size=(20, rank)),
        10.0**log_points * rng.normal(size=(5, rank + 1)),
    )
    rough = module.Rough.of(F, points)
    error = np.abs(rough.values.T - (F @ points[:, :-1].T + points[:, -1]))
    assert (error <= rough.off).all()
    reach = np.linalg.norm(F, axis=1).max() * np.linalg.norm(points[:, :-1], axis=1) + np.abs(points[:, -1])
    assert (rough.off <= 1e-4 * (1.0 + reach)).all()


def test_rows_that_single_precision_cannot_tell_are_decided_in_double() -> None:
    # 1 - y w f is 1e-12 on either side of 0: no difference in single precision.
    F, y = np.array([[1.0 - 1e-12], [1.0 + 1e-12]]), np.ones(2)
    assert cuts_of(F, y, np.array([[1.0, 0.0]])).m.tolist() == [1.0]
    assert cuts_of(F, y, np.array([[1.0, 0.0]])).loss[0] == pytest.approx(1e-12, rel=1e-3)


def test_points_beyond_single_precision_are_decided_in_double() -> None:
    F, y = np.array([[1.0, -1.0], [1.0, -0.5], [2.0, 1.0]]), np.array([1.0, 1.0, 0.0])
    cuts = cuts_of(F, y, np.array([[1e100, 1e100, 0.0], [-1e100, 0.0, 0.0]]), blur=0)
    assert cuts.m.tolist() == [1.0, 2.0], "at the first point w.f is 0 for one row and large for the other"


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 9))
def test_the_blurred_rows_are_the_same_whatever_is_asked_besides(seed: int, rows: int, blur: int) -> None:
    rng = np.random.default_rng(seed)
    F, y, points = (
        rng.normal(size=(rows, 3)),
        rng.choice([-1.0, 0.0, 1.0], size=rows),
        rng.normal(size=(4, 4)),
    )
    # Rows that are the same but for less than single precision can tell.
    F = np.vstack([F, F + 1e-9])
    y, labels = np.tile(y, 2), np.ones(2 * rows)
    for t, point in enumerate(points):
        together, alone = (
            module.RowFactors(Labels(y, labels), Question(asked, blur, asked[0]), drawn)
            for asked in (points, point[None, :])
        )
        for factors in (together, alone):
            factors.of_cuts(F, slice(0, 2 * rows), module.Rough.of(F, factors.question.looked_at))
        assert sorted(together.nearest[:, t]) == sorted(alone.nearest[:, 0])
