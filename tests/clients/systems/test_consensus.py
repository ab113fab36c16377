"""A site's own models: the local problem is solved, no question steps twice, and steps that were missed are made up."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from clients.systems.admm import solve
from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.systems.admm import CONSENSUS, ConsensusAnswer, ConsensusQuestion
from flower_pansvm.systems.pan_svm.cuts import Problem
from strategies.federation.federation import Federation
from strategies.master.packing import in_single_precision, pack_problems
from tests.clients.systems.conftest import SCALE, SHIFT
from tests.conftest import kept_rows

pytestmark = pytest.mark.usefixtures("begun_ledgers")

Numbers = NDArray[np.float64]
Ask = Callable[..., Federation]

C = 3.0
PROBLEM = Problem("", 2, 180.0, C, Pair(1, REST))
POINTS = np.array([[[0.0, 0.0, 0.0]], [[0.5, -1.0, 0.2]], [[0.4, -1.5, 0.1]]])
RHO = np.array([[2.0], [2.0], [4.0]])


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 40),
    rank=st.integers(1, 12),
    scale=st.floats(-3, 3),
    shift=st.floats(-30, 30),
)
def test_the_local_problem_is_solved_to_a_small_duality_gap(
    seed: int, count: int, rank: int, scale: float, shift: float
) -> None:
    """Whatever the cost and the margins, those of rows far on the right side among them; and with rows of one side."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(count, rank))
    rows[:, -1] = 1.0 if seed % 2 else np.sign(rows[:, -1])
    cost = 10.0**scale * generator.uniform(0.5, 1.5, count) * (generator.random(count) < 0.9)
    margin = shift + 3 * generator.normal(size=count)
    duals = solve(rows, cost, margin)
    assert (duals >= 0).all()
    assert (duals <= cost * (1 + 1e-12)).all()
    d = duals @ rows
    lower = float(duals @ margin - 0.5 * d @ d)
    upper = float(0.5 * d @ d + cost @ np.maximum(0.0, margin - rows @ d))
    assert lower - 1e-9 * abs(upper) <= upper <= lower + 1e-4 * cost.sum() + 1e-9 * abs(upper)


def question(first: int, last: int | None = None) -> ConsensusQuestion:
    """Return the question for the steps from one to another."""
    steps = slice(first, (first if last is None else last) + 1)
    return ConsensusQuestion(
        **vars(pack_problems([PROBLEM])), first=first, points=POINTS[steps].astype(np.float32), rho=RHO[steps]
    )


def ask(federation: Federation, first: int, last: int | None = None) -> ConsensusAnswer:
    return federation.secure_sum(CONSENSUS, question(first, last))


def same(one: ConsensusAnswer, other: ConsensusAnswer) -> bool:
    return all(np.array_equal(part, vars(other)[name]) for name, part in vars(one).items())


def reference(files: list[Path]) -> list[ConsensusAnswer]:
    """Return the sums of each step, from another solver and Boyd's equations as they stand."""
    expected, sides = [], _sides(files)
    x, u = [np.zeros(3)] * len(sides), [np.zeros(3)] * len(sides)
    for step, ((z,), (rho,)) in enumerate(zip(POINTS, RHO, strict=True)):
        before = RHO[max(step - 1, 0), 0]
        y = [before * (own + x_i - z) for own, x_i in zip(u, x, strict=True)]
        primal = sum(float((x_i - z) @ (x_i - z)) for x_i in x)
        sizes = sum(float(x_i @ x_i) for x_i in x), sum(float(y_i @ y_i) for y_i in y)
        u = [y_i / rho for y_i in y]
        x = [_minimum(rows, z - own, rho) for rows, own in zip(sides, u, strict=True)]
        models = sum(x_i + own for x_i, own in zip(x, u, strict=True))
        expected.append(ConsensusAnswer(np.array([models]), *(np.array([one]) for one in (primal, *sizes))))
    return expected


def _sides(files: list[Path]) -> list[Numbers]:
    """Return y_i (f_i, 1) of each hospital's training rows."""
    sides = []
    for file in files:
        frame = pd.read_csv(file)
        train = ~kept_rows(file)
        X = (frame[["age", "dose"]].to_numpy()[train] - SHIFT) / SCALE
        y = np.where(frame["label"].to_numpy()[train] == 1, 1.0, -1.0)
        sides.append(y[:, None] * np.column_stack([X, np.ones(len(X))]))
    return sides


def _minimum(rows: Numbers, centre: Numbers, rho: float) -> Numbers:
    """Return argmin C sum max(0, 1 - rows.x) + rho/2 ||x - centre||^2, by its dual, one row after the other.

    L-BFGS-B stops short of the optimum on some splits.
    """
    duals, x, squares = np.zeros(len(rows)), centre.copy(), np.square(rows).sum(axis=1)
    for _ in range(1000):
        before = duals.copy()
        for place, (row, square) in enumerate(zip(rows, squares, strict=True)):
            best = min(max(before[place] + (1 - row @ x) / square, 0.0), C / rho)
            x += (best - before[place]) * row
            duals[place] = best
        if np.array_equal(duals, before):
            break
    return x


def test_steps_are_those_of_boyds_equations(joined: Ask, hospital_files: list[Path]) -> None:
    federation = joined()
    for step, expected in enumerate(reference(hospital_files)):
        found = ask(federation, step)
        for name, part in vars(expected).items():
            assert vars(found)[name] == pytest.approx(part, abs=2e-3, rel=2e-3), (step, name)


def test_a_question_that_comes_again_is_answered_again_and_no_step(joined: Ask) -> None:
    """As after a site was lost: the others have taken the step, and the sum is repeated."""
    federation = joined()
    ask(federation, 0)
    first = ask(federation, 1)
    assert same(ask(federation, 1), first)
    assert same(ask(federation, 1), first)
    undisturbed = joined(run_id=2)
    ask(undisturbed, 0)
    ask(undisturbed, 1)
    assert same(ask(federation, 2), ask(undisturbed, 2))


def test_sites_that_join_anew_make_up_for_the_steps_they_have_missed(joined: Ask) -> None:
    federation = joined()
    for step in (0, 1):
        ask(federation, step)
    assert same(ask(joined(run_id=2), 0, 2), ask(federation, 2))


@pytest.mark.parametrize("first", [0, 2])
def test_a_site_without_the_models_of_the_step_before_refuses(joined: Ask, first: int) -> None:
    federation = joined()
    ask(federation, 0)
    changed = replace(question(first), points=question(first).points + 1)
    with pytest.raises(FederationError, match=rf"has taken 1 steps .* request is for step {first}"):
        federation.secure_sum(CONSENSUS, changed)


def test_a_site_takes_so_many_steps_and_no_more(joined: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clients.systems.admm.MOST_STEPS", 2)
    federation = joined()
    ask(federation, 0, 1)
    with pytest.raises(SettingError, match="steps"):
        ask(federation, 2)


def test_a_coordinator_of_its_own_mind_reads_slopes_of_the_loss(
    joined: Ask, hospital_files: list[Path]
) -> None:
    """With a huge rho each row within the margin has the factor C / rho, so that two sums may differ in one row."""
    rho = 1e9
    sides = np.vstack(_sides(hospital_files))
    point, direction = np.array([0.7, -0.9, 0.3]), np.array([1.0, 0.0, 1.0])
    # Where on the way the rows come to the margin; one of them between two points that no row is near.
    times = np.sort((1 - sides @ point) / (sides @ direction))
    times = times[times > 0]
    place = int(np.argmax(np.minimum(times[1:-1] - times[:-2], times[2:] - times[1:-1]))) + 1
    ways = [times[[place + one, place + one + 1]].mean() for one in (-1, 0)]
    points = [in_single_precision(point + direction * way) for way in ways]
    slopes = []
    for run_id, z in enumerate(points, start=2):
        # The first dual variables are -rho times the point, so that the model is drawn to twice of it.
        asked = replace(question(0), points=z[None, None].astype(np.float32) / 2, rho=np.full((1, 1), rho))
        models = joined(run_id=run_id).secure_sum(CONSENSUS, asked).models[0]
        slopes.append((models - len(hospital_files) * z / 2) * rho / C)
    before, after = (1 - sides @ z > 0 for z in points)
    (row,) = np.flatnonzero(before != after)
    sign = 1.0 if before[row] else -1.0
    assert slopes[0] - slopes[1] == pytest.approx(sign * sides[row], abs=1e-3)


def test_a_step_is_not_several(joined: Ask) -> None:
    """One message with the same class at many points would read a row with each."""
    points = np.zeros((1, 2, 3), dtype=np.float32)
    twice = pack_problems([PROBLEM, replace(PROBLEM, C=2 * PROBLEM.C)])
    asked = ConsensusQuestion(**vars(twice), first=0, points=points, rho=np.ones((1, 2)))
    with pytest.raises(SettingError, match="classes"):
        joined().secure_sum(CONSENSUS, asked)


def test_losses_too_large_for_numbers_are_no_failure_that_names_the_site() -> None:
    assert not solve(np.ones((3, 2)), np.full(3, 1e300), np.full(3, 1e38)).any()
    assert not solve(np.empty((0, 2)), np.empty(0), np.empty(0)).any()
