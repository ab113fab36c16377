"""The cutting-plane phase: what it asks the sites, the bounds it declares, and what it does when a site is lost."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flower_pansvm.errors import TrainingError
from flower_pansvm.multiclass import REST, Pair, one_versus_all, signs
from flower_pansvm.systems.pan_svm.cuts import Labels, Problem, cuts_at
from flower_pansvm.systems.pan_svm.tasks import CUTS, CutsAnswer, CutsQuestion
from flower_pansvm.systems.scaling import NO_FOLD, ROWS, RowsAnswer
from flower_pansvm.tasks import Task, bounds_of
from strategies.federation.exchange import Costs
from strategies.federation.federation import Federation
from strategies.master import progress, search
from strategies.settings import make_settings
from strategies.steps import cutting_planes
from strategies.steps.binary_problems import side_rows, weighted_rows
from strategies.steps.cutting_planes import CuttingPlanes

Matrix = NDArray[np.float64]

FOLDS, CLASSES = 2, 3


def within_the_unit_ball(F: Matrix) -> Matrix:
    """Return mapped rows as the RBF kernel has them: none is longer than 1."""
    shortened: Matrix = F / np.maximum(1.0, np.linalg.norm(F, axis=1, keepdims=True))
    return shortened


class Sites:
    """Sites in this process that hold mapped rows of a norm of at most 1, check every bound, and may be lost."""

    def __init__(self, seed: int, rows: int, rank: int, size: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.costs, self.rows = Costs(), None
        self.sites = ["a", "b", "c"]
        self.tables = {
            name: (
                within_the_unit_ball(size * rng.normal(size=(rows, rank))),
                rng.integers(0, CLASSES, size=rows),
                rng.integers(0, FOLDS, size=rows),
            )
            for name in self.sites
        }
        self.lose_in = 0
        self.asked: list[str] = []

    def counted(self) -> Matrix:
        counts = np.zeros((FOLDS, CLASSES))
        for name in self.sites:
            np.add.at(counts, self.tables[name][:0:-1], 1.0)
        return counts

    def secure_sum(self, task: Task[Any, Any], asked: Any, **_: Any) -> Any:
        self.asked.append(task.name)
        if self.lose_in == len(self.asked):
            self.sites.remove("b")
        if task is ROWS:
            return RowsAnswer(self.counted())
        parts = [self._cuts(name, asked) for name in self.sites]
        bounds = bounds_of(task, asked, make_settings().terms, len(self.sites))
        for part in parts:
            for name, values in part.items():
                assert np.abs(values).max(initial=0.0) <= bounds[name], name
        return CutsAnswer(**{name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]})

    def _cuts(self, name: str, asked: CutsQuestion) -> dict[str, Matrix]:
        F, classes, folds = self.tables[name]
        answers = []
        for problem, question in zip(asked.problems(), asked.questions(), strict=True):
            y = signs(classes, problem.pair)
            y[folds == problem.fold] = 0.0
            labels = Labels(y, np.where(y > 0, *problem.weights))
            answers += cuts_at(lambda rows: F[rows], [labels], [question])
        return vars(CutsAnswer.of(answers))


def training(
    sites: Sites, weights: tuple[float, float] = (1.0, 1.0), most_rounds: int = 100, **changed: Any
) -> CuttingPlanes:
    rank = sites.tables["a"][0].shape[1]
    problems = [
        Problem(f"class {pair.positive}", rank, 0.0, 1.0, pair, fold=fold, weights=weights)
        for pair in one_versus_all(CLASSES)
        for fold in (NO_FOLD, 1)
    ]
    rows = sites.counted()
    problems = [replace(problem, rows=weighted_rows(problem, rows)) for problem in problems]
    return CuttingPlanes(
        cast(Federation, sites), make_settings(**changed), problems, rows, tuple(sites.sites), most_rounds
    )


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 30),
    rank=st.integers(1, 5),
    log_size=st.floats(-3, 3),
    log_start=st.floats(-3, 6),
    weights=st.tuples(st.floats(0.01, 50), st.floats(0.01, 50)),
)
@pytest.mark.slow
def test_no_site_breaks_the_bounds_of_a_message_wherever_it_is_asked(
    seed: int, rows: int, rank: int, log_size: float, log_start: float, weights: tuple[float, float]
) -> None:
    sites = Sites(seed, rows, rank, 10.0**log_size)
    rng = np.random.default_rng(seed)
    starts = [10.0**log_start * rng.normal(size=(3, rank + 1)) for _ in range(2 * CLASSES)]
    # `Sites` checks the bounds, of the starts in the first round and of what follows from them in the others.
    training(sites, weights, most_rounds=2).train(starts)
    assert sites.asked == [CUTS.name] * len(sites.asked)


def test_bounds_hold_where_they_are_as_tight_as_can_be() -> None:
    # All rows alike, all on the wrong side, all of the heaviest weight, all on the margin of the centre.
    sites = Sites(0, 20, 2)
    zeros = np.zeros(20, dtype=np.int64)
    sites.tables = dict.fromkeys(sites.sites, (np.tile([0.6, 0.8], (20, 1)), zeros, zeros))
    on_the_margin, far = np.array([0.6, 0.8, 0.0]), np.array([-3e3, -4e3, -1e3])
    starts = [np.stack([far, -far, on_the_margin])] * (2 * CLASSES)
    training(sites, (7.0, 7.0), most_rounds=2).train(starts)


def test_the_published_search_asks_at_one_point_and_the_fast_one_at_several_and_for_curvature() -> None:
    published, fast = training(Sites(0, 60, 4), search="published"), training(Sites(0, 60, 4))
    for one in (published, fast):
        one.train([np.empty((0, 5))] * 6)
    for questions in published.questions:
        assert {(len(q.points), q.leading) for q in questions.values()} == {(1, -1)}
    assert {q.leading for q in fast.questions[0].values()} == {4}
    assert min(len(q.points) for q in fast.questions[1].values()) > 5


def test_when_a_site_is_lost_it_begins_again_with_the_rows_of_the_others() -> None:
    sites = Sites(0, 60, 4)
    sites.lose_in = 3
    one = training(sites, tol=1e-3)
    states = one.train([np.empty((0, 5))] * 6)
    assert sites.asked[:5] == [CUTS.name] * 3 + [ROWS.name, CUTS.name]
    assert all(state.gap <= 1e-3 for state in states)
    for state, problem in zip(states, one.problems, strict=True):
        assert state.problem.rows == problem.rows == weighted_rows(problem, sites.counted())
        F = np.vstack([sites.tables[name][0] for name in ("a", "c")])
        classes, folds = (np.concatenate([sites.tables[name][i] for name in ("a", "c")]) for i in (1, 2))
        y = signs(classes, problem.pair)
        y[folds == problem.fold] = 0.0
        hinge = np.maximum(0, np.abs(y) - y * (F @ state.best[:-1] + state.best[-1]))
        assert state.upper == pytest.approx(0.5 * state.best[:-1] @ state.best[:-1] + hinge.sum())


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list that log lines go to."""
    written: list[str] = []
    monkeypatch.setattr(cutting_planes.logger, "log", lambda _, text, *args: written.append(text % args))
    monkeypatch.setattr(cutting_planes.logger, "warning", lambda text, *args: written.append(text % args))
    return written


def test_a_problem_that_cannot_be_solved_is_logged_by_its_name(
    monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    def failing(*cuts: Any, likely: NDArray[np.bool_]) -> None:
        raise TrainingError("not solved")

    monkeypatch.setattr(progress, "solve_master", failing)
    states = training(Sites(0, 20, 4)).train([np.empty((0, 5))] * 6)
    assert {state.failure for state in states} == {"not solved"}
    assert "class 0 stops at its best point so far: not solved" in lines


def test_a_problem_that_is_given_up_is_logged_with_its_gap(
    monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    monkeypatch.setattr(cutting_planes, "PATIENCE", 1)
    monkeypatch.setattr(search, "SHRUNK", 0.05)
    states = training(Sites(0, 60, 4), tol=1e-9).train([np.empty((0, 5))] * 6)
    given_up = [state for state in states if state.gap > 1e-9]
    assert given_up
    assert sum("its bounds stall" in line for line in lines) == len(given_up)
    rounds = max(state.rounds for state in states)
    last = [state for state in states if state.rounds == rounds]
    assert lines[rounds - 1].endswith(f"{len([s for s in last if s.gap > 1e-9])} of 6 open)")


def test_training_that_was_cut_short_is_not_said_to_stall(lines: list[str]) -> None:
    training(Sites(0, 60, 4), most_rounds=2).train([np.empty((0, 5))] * 6)
    assert not any("bounds stall" in line for line in lines)


def test_rows_of_a_problem_by_hand() -> None:
    rows = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    everything = Problem("", 4, 0.0, 1.0, Pair(1, REST), weights=(2.0, 0.5))
    assert side_rows(everything, rows) == (22.0, 44.0)
    assert weighted_rows(everything, rows) == 2.0 * 22.0 + 0.5 * 44.0
    without_fold_0 = Problem("", 4, 0.0, 1.0, Pair(1, REST), fold=0)
    assert side_rows(without_fold_0, rows) == (20.0, 40.0)
    pair = Problem("", 4, 0.0, 1.0, Pair(2, 0), fold=1)
    assert side_rows(pair, rows) == (3.0, 1.0)
