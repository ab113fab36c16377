"""Proximal points: Newton steps where the loss is smooth, the cuts' own minimum where it is not, and never an error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flower_pansvm.errors import TrainingError
from flower_pansvm.systems.pan_svm.cuts import Cuts
from strategies.master import proximal
from strategies.master.proximal import (
    DAMPING,
    damped_roots,
    proximal_targets,
)

Matrix = NDArray[np.float64]


def some_cuts(seed: int, count: int, rank: int, rows: float) -> Cuts:
    rng = np.random.default_rng(seed)
    a, d = rows * rng.normal(size=(count, rank)), rows * rng.normal(size=count)
    return Cuts(a, d, rows * rng.uniform(0, 1, size=count), np.zeros(count))


def some_curvature(seed: int, rank: int, rows: float, rank_of_it: int | None = None) -> Matrix:
    f = np.random.default_rng(seed).normal(size=(rank + 1, 3 * rank if rank_of_it is None else rank_of_it))
    curvature: Matrix = rows * f @ f.T
    return curvature


def model(x: Matrix, best: Matrix, cuts: Cuts, curvature: Matrix, C: float) -> float:
    """Return what the points are the minimisers of, see the module's docstring."""
    loss = max(0.0, float(np.max(cuts.m - cuts.a @ x[:-1] - cuts.d * x[-1], initial=0.0)))
    step = x - best
    return float(0.5 * x[:-1] @ x[:-1] + C * loss + 0.5 * C * step @ curvature @ step)


def points_of(
    best: Matrix,
    cuts: Cuts,
    beta: Matrix,
    curvature: Matrix,
    C: float,
    rows: float,
) -> Matrix:
    return proximal_targets(best, cuts, beta, damped_roots(curvature, C), C, rows)


@given(
    seed=st.integers(0, 10**6),
    rank=st.integers(1, 8),
    count=st.integers(0, 12),
    log_C=st.floats(-2, 4),
    log_rows=st.floats(0, 5),
)
def test_nothing_nearby_is_better_than_a_minimiser(
    seed: int, rank: int, count: int, log_C: float, log_rows: float
) -> None:
    rng, C, rows = np.random.default_rng(seed), 10.0**log_C, 10.0**log_rows
    best, curvature = rng.normal(size=rank + 1), some_curvature(seed, rank, rows)
    cuts = some_cuts(seed, count, rank, rows)
    points = points_of(best, cuts, np.ones(count), curvature, C, rows)
    for i, tau in enumerate(DAMPING):
        found = points[i]
        least = model(found, best, cuts, tau * curvature, C)
        for size in (1e-3, 0.1, 1.0):
            for other in found + size * rng.normal(size=(10, rank + 1)):
                assert least <= model(other, best, cuts, tau * curvature, C) + 1e-6 * C * rows


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize(("rank_of_it", "count"), [(0, 0), (1, len(DAMPING)), (2, len(DAMPING))])
def test_a_singular_curvature_will_do(rank_of_it: int, count: int, C: float) -> None:
    """One of rank 0, with no row near the margin, does not even hold the bias."""
    curvature = some_curvature(0, 4, 10.0, rank_of_it)
    points = points_of(np.ones(5), some_cuts(0, 6, 4, 10.0), np.ones(6), curvature, C, 10.0)
    assert len(points) >= count
    assert points.shape[1] == 5
    assert np.isfinite(points).all()


def test_a_curvature_that_is_none_gives_no_points() -> None:
    # Not positive definite, which sums of v f f^T in single precision may come near to.
    curvature = -1e6 * np.eye(5)
    points = points_of(np.ones(5), some_cuts(0, 6, 4, 10.0), np.ones(6), curvature, 1.0, 10.0)
    assert points.shape == (0, 5)


def test_a_program_that_is_not_solved_gives_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*program: Matrix) -> None:
        raise TrainingError("not solved")

    monkeypatch.setattr(proximal, "minimise", failing)
    points = points_of(np.ones(5), some_cuts(0, 6, 4, 10.0), np.ones(6), np.eye(5), 1.0, 10.0)
    assert points.shape == (0, 5)
