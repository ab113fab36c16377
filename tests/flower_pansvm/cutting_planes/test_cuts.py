"""Cutting planes: sums as the paper's loops write them, and bounds that hold everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flower_pansvm.cutting_planes.cuts import Cuts, cuts_at

Rows = tuple[NDArray[np.float64], NDArray[np.float64]]


def some_rows(seed: int, rows: int, rank: int) -> Rows:
    rng = np.random.default_rng(seed)
    # Rounded, so that some rows lie exactly on the margin.
    return np.round(rng.normal(size=(rows, rank)), 1), np.where(rng.random(rows) < 0.4, 1.0, -1.0)


def some_points(seed: int, points: int, rank: int) -> NDArray[np.float64]:
    return np.round(np.random.default_rng(seed + 1).normal(size=(points, rank + 1)), 1)


def by_the_papers_loop(F: NDArray[np.float64], y: NDArray[np.float64], points: NDArray[np.float64]) -> Cuts:
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


def hinge(F: NDArray[np.float64], y: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array(
        [sum(max(0.0, 1 - y_i * (p[:-1] @ f + p[-1])) for f, y_i in zip(F, y, strict=True)) for p in points]
    )


def bounds(cuts: Cuts, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the value of every cut at every point, shape (points, cuts)."""
    return cuts.m - points[:, :-1] @ cuts.a.T - np.outer(points[:, -1], cuts.d)


def assert_close(found: Cuts, expected: Cuts) -> None:
    assert found.a == pytest.approx(expected.a, abs=1e-9)
    assert found.d.tolist() == expected.d.tolist()
    assert found.m.tolist() == expected.m.tolist()
    assert found.loss == pytest.approx(expected.loss, abs=1e-9)


def test_by_hand() -> None:
    F, y = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), np.array([1.0, -1.0, 1.0])
    # Margins at w = (1, 1), b = -1: 0, -1 and 2.
    cuts = cuts_at(F, y, np.array([[1.0, 1.0, -1.0]]))
    assert cuts.a.tolist() == [[1.0, -2.0]]
    assert (cuts.d.tolist(), cuts.m.tolist(), cuts.loss.tolist()) == ([0.0], [2.0], [3.0])


def test_at_the_origin_every_row_is_in() -> None:
    F, y = some_rows(0, 30, 4)
    cuts = cuts_at(F, y, np.zeros((1, 5)))
    assert cuts.a[0] == pytest.approx(y @ F)
    assert (cuts.d[0], cuts.m[0], cuts.loss[0]) == (y.sum(), 30, 30)


def test_a_row_on_the_margin_is_out() -> None:
    cuts = cuts_at(np.array([[1.0]]), np.array([1.0]), np.array([[2.0, -1.0], [2.0, -1.0 - 1e-12]]))
    assert cuts.m.tolist() == [0.0, 1.0]
    assert cuts.loss[0] == 0


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 25), st.integers(1, 6), st.integers(0, 8))
def test_they_are_those_of_the_papers_loop(seed: int, rows: int, rank: int, points: int) -> None:
    F, y = some_rows(seed, rows, rank)
    # Values in quarters are exact, so that no row is on different sides of the margin by rounding.
    F, at = np.round(F * 4) / 4, np.round(some_points(seed, points, rank) * 4) / 4
    assert_close(cuts_at(F, y, at), by_the_papers_loop(F, y, at))


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 6), st.floats(0.01, 100))
def test_a_cut_is_tight_at_its_point_and_below_the_loss_everywhere(
    seed: int, rows: int, rank: int, size: float
) -> None:
    F, y = some_rows(seed, rows, rank)
    at, elsewhere = some_points(seed, 5, rank), size * some_points(seed + 2, 20, rank)
    cuts = cuts_at(F, y, at)
    assert cuts.loss == pytest.approx(hinge(F, y, at), abs=1e-9)
    assert np.diag(bounds(cuts, at)) == pytest.approx(cuts.loss, abs=1e-9)
    rounding = 1e-9 * (1 + size)
    assert (bounds(cuts, elsewhere) <= hinge(F, y, elsewhere)[:, None] + rounding).all()


@settings(deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 40), max_size=4))
def test_sums_over_sites_are_those_of_the_pooled_rows(seed: int, borders: list[int]) -> None:
    F, y = some_rows(seed, 40, 3)
    at = some_points(seed, 6, 3)
    parts = [
        cuts_at(*site, at)
        for site in zip(np.split(F, sorted(borders)), np.split(y, sorted(borders)), strict=True)
    ]
    total = Cuts(
        *(np.sum([getattr(part, name) for part in parts], axis=0) for name in ("a", "d", "m", "loss"))
    )
    assert_close(total, cuts_at(F, y, at))


def test_a_site_without_rows_sends_zeros() -> None:
    cuts = cuts_at(np.empty((0, 3)), np.empty(0), some_points(0, 4, 3))
    assert cuts.a.tolist() == np.zeros((4, 3)).tolist()
    assert cuts.d.tolist() == cuts.m.tolist() == cuts.loss.tolist() == [0.0] * 4
