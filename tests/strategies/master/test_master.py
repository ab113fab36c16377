"""The master problem: solutions by hand, and proved by their own dual."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from flower_pansvm.errors import TrainingError
from flower_pansvm.systems.pan_svm.cuts import Labels, Question, cuts_at
from strategies.master import quadratic_program
from strategies.master.master import MasterSolution, solve_master

Arrays = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def solved(a: ArrayLike, d: ArrayLike, m: ArrayLike, C: float, rows: float = 4) -> MasterSolution:
    cuts = [np.asarray(part, dtype=np.float64) for part in (a, d, m)]
    return solve_master(cuts[0], cuts[1], cuts[2], C, rows, likely=np.ones(len(cuts[2]), dtype=np.bool_))


def value(
    a: NDArray[np.float64], d: NDArray[np.float64], m: NDArray[np.float64], C: float, x: NDArray[np.float64]
) -> float:
    """Return the master's objective at x = (w, b), with the least L that the cuts allow."""
    return float(0.5 * x[:-1] @ x[:-1] + C * max(0.0, float(np.max(m - a @ x[:-1] - d * x[-1]))))


def some_cuts(seed: int, rows: int, rank: int, count: int, size: float = 1.0) -> Arrays:
    """Return cuts of random rows at random points, as they come up in a run."""
    rng = np.random.default_rng(seed)
    F = size * rng.normal(size=(rows, rank))
    y = np.where(F[:, 0] + size * rng.normal(size=rows) > 0.3 * size, 1.0, -1.0)
    points = rng.normal(size=(count, rank + 1)) / max(size, 1e-3)
    question, labels = Question(points, points[0]), Labels(y, np.ones(rows))
    cuts = cuts_at(lambda rows: F[rows], [labels], [question])[0].cuts
    return cuts.a, cuts.d, cuts.m


def assert_optimal(
    a: NDArray[np.float64],
    d: NDArray[np.float64],
    m: NDArray[np.float64],
    C: float,
    rows: int,
    found: MasterSolution,
    rel: float,
) -> None:
    """Prove by duality that the solution is optimal: a feasible dual point has (nearly) the primal's value."""
    beta = found.beta
    assert (beta >= 0).all()
    assert beta.sum() <= C * (1 + 1e-12)
    assert abs(beta @ d) <= 1e-12 * (beta @ np.abs(d))
    assert found.lower == pytest.approx(m @ beta - 0.5 * np.square(beta @ a).sum(), rel=1e-9, abs=1e-9)
    primal = value(a, d, m, C, np.append(found.w, found.b))
    assert found.lower <= primal * (1 + 1e-12)
    # Where the bias alone takes all loss away, it may be anything beyond a point, or beyond a far one where hardly
    # anything stands on the other side: the solver finds the 0 less exactly.
    one_sided = min(d.max(initial=0.0), -d.min(initial=0.0)) <= 0.01 * np.abs(d).max()
    assert primal - found.lower <= rel * primal + (1e-6 if one_sided else 1e-8) * C * rows
    # The primal objective grows at least like 1/2 ||w - w*||^2 around its minimum.
    assert 0.5 * np.square(found.w - beta @ a).sum() <= (primal - found.lower) * (1 + 1e-9) + 1e-15 * C * rows


def test_the_bias_by_hand() -> None:
    # Both cuts hold: L = 3 - w - b = 1 - w + b, so b = 1; shares are equal, w = 2 s with s = 1, L = 0.
    found = solved([[1.0], [1.0]], [1.0, -1.0], [3.0, 1.0], 10.0)
    assert (found.w[0], found.b) == pytest.approx((2.0, 1.0), rel=1e-6)
    assert found.lower == pytest.approx(2.0, rel=1e-8)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_with_a_bias_alone_there_is_no_loss(sign: float) -> None:
    a, d, m = np.array([[2.0, 0.0], [1.0, 1.0]]), sign * np.array([1.0, 2.0]), np.array([4.0, 3.0])
    found = solved(a, d, m, 1.0)
    assert found.lower == 0.0
    assert found.beta.tolist() == [0.0, 0.0]
    assert value(a, d, m, 1.0, np.append(found.w, found.b)) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("rows", [0.0, 4.0])
def test_a_cut_of_no_rows(rows: float) -> None:
    found = solved([[0.0, 0.0]], [0.0], [0.0], 1.0, rows)
    assert (found.w.tolist(), found.lower) == ([0.0, 0.0], 0.0)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(2, 60),
    rank=st.integers(1, 12),
    count=st.integers(1, 40),
    log_C=st.floats(-3, 6),
    log_size=st.floats(-3, 1.5),
    repeated=st.integers(1, 3),
)
@example(seed=2, rows=50, rank=2, count=7, log_C=4.0, log_size=0.5, repeated=1)
@example(seed=59, rows=25, rank=2, count=18, log_C=4.0, log_size=0.5, repeated=1)
def test_solutions_are_proved_by_their_dual(
    seed: int, rows: int, rank: int, count: int, log_C: float, log_size: float, repeated: int
) -> None:
    a, d, m = (
        np.repeat(part, repeated, axis=0) for part in some_cuts(seed, rows, rank, count, 10.0**log_size)
    )
    found = solved(a, d, m, 10.0**log_C, rows)
    assert_optimal(a, d, m, 10.0**log_C, rows, found, rel=1e-5)


@settings(max_examples=50)
@given(
    likely=st.lists(st.booleans(), min_size=30, max_size=30).filter(any), C=st.sampled_from([0.01, 1.0, 1e3])
)
def test_the_likely_cuts_do_not_decide_the_solution(likely: list[bool], C: float) -> None:
    a, d, m = some_cuts(2, rows=50, rank=6, count=30)
    all_at_once = solved(a, d, m, C, 50)
    step_by_step = solve_master(a, d, m, C, 50, likely=np.array(likely))
    assert_optimal(a, d, m, C, 50, step_by_step, rel=1e-6)
    assert step_by_step.lower == pytest.approx(all_at_once.lower, rel=1e-4)
    assert step_by_step.w == pytest.approx(all_at_once.w, rel=1e-2, abs=1e-2)


@pytest.mark.parametrize("C", [1e4, 1e6, 1e8])
def test_steep_cuts_with_a_huge_C_are_solved(C: float) -> None:
    # As with an unscaled table and a linear or polynomial kernel.
    a, d, m = some_cuts(3, rows=40, rank=8, count=20, size=60.0)
    for count in (1, 2, 20):
        found = solved(a[:count], d[:count], m[:count], C, 40)
        assert_optimal(a[:count], d[:count], m[:count], C, 40, found, rel=1e-3)


@pytest.mark.parametrize("tolerances", [(1e-7,), (1e-4,), (1e-1,)])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e4])
def test_the_lower_bound_is_valid_however_roughly_the_program_was_solved(
    monkeypatch: pytest.MonkeyPatch, tolerances: tuple[float, ...], C: float
) -> None:
    a, d, m = some_cuts(5, rows=50, rank=6, count=30)
    exact = solved(a, d, m, C, 50)
    monkeypatch.setattr(quadratic_program, "TOLERANCES", tolerances)
    rough = solved(a, d, m, C, 50)
    assert rough.tolerance == tolerances[0]
    assert rough.lower <= value(a, d, m, C, np.append(exact.w, exact.b)) * (1 + 1e-12)
    assert (rough.beta >= 0).all()
    assert rough.beta.sum() <= C * (1 + 1e-12)
    assert abs(rough.beta @ d) <= 1e-12 * (rough.beta @ np.abs(d))


def test_cuts_without_weights_leave_the_bias_alone() -> None:
    # As for rows that are all mapped to zero: 2 of one class, 3 of the other.
    found = solved(np.zeros((2, 3)), [1.0, -1.0], [5.0, 4.0], 1.0, 5)
    assert found.w.tolist() == [0.0] * 3
    assert found.lower == pytest.approx(4.5)


def test_a_rounding_error_does_not_let_the_bias_take_the_loss_away() -> None:
    # As at the origin with balanced class weights, where both classes weigh 50.
    found = solved([[3.0], [3.0]], [1e-14, 3e-13], [100.0, 100.0], 1.0, 100)
    assert found.lower == pytest.approx(95.5)
    assert found.w == pytest.approx([3.0])
    assert abs(found.b) < 10


def test_sums_that_are_no_numbers_are_a_training_error() -> None:
    with pytest.raises(TrainingError):
        solved([[np.nan, 1.0]], [0.0], [1.0], 1.0)
