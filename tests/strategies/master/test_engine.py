"""The cutting-plane loop: as good as a central solver, and honest about how good."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from flower_pansvm.errors import TrainingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.systems.pan_svm.cuts import (
    Answer,
    Cuts,
    Labels,
    Problem,
    Question,
    cuts_at,
)
from strategies.master import engine, progress
from strategies.master.engine import Search, solve
from strategies.master.line_search import LineSearch
from strategies.master.master import MasterSolution, solve_master
from strategies.master.progress import Progress
from strategies.master.search import LATE_PLANES, PointSearch
from strategies.steps.feature_maps import fit_map
from tests.conftest import Reorder, in_order

Matrix = NDArray[np.float64]
Rows = tuple[Matrix, Matrix]

TOL = 1e-3


def signs(y: NDArray[np.bool_]) -> Matrix:
    return np.where(y, 1.0, -1.0)


def mapped(X: Matrix, landmarks: int, gamma: float) -> Matrix:
    """Return the rows mapped by an RBF kernel, every so-many-th row a landmark."""
    Z = StandardScaler().fit_transform(X)
    return fit_map(Kernel("rbf", gamma), Z[:: len(Z) // landmarks]).transform(Z)


def moons() -> Rows:
    X, y = make_moons(200, noise=0.25, random_state=0)
    return mapped(X, 25, 1.0), signs(y == 1)


def breast_cancer() -> Rows:
    X, y = load_breast_cancer(return_X_y=True)
    return mapped(X[:200], 33, 1 / 30), signs(y[:200] == 1)


def rare_class() -> Rows:
    X, y = make_classification(400, 8, weights=[0.97], class_sep=0.7, flip_y=0.01, random_state=1)
    assert 8 <= y.sum() <= 20
    return mapped(X, 30, 1 / 8), signs(y == 1)


def rank_deficient() -> Rows:
    F, y = moons()
    # Two copies of some coordinates, sums of others, and a coordinate that is always zero.
    return np.hstack([F[:, :6], F[:, :6], F[:, :3] + F[:, 3:6], np.zeros((len(F), 1))]), y


def duplicate_rows() -> Rows:
    F, y = moons()
    y = y.copy()
    y[:5] *= -1
    return np.repeat(F[:40], 4, axis=0), np.repeat(y[:40], 4)


def separable() -> Rows:
    F = np.random.default_rng(0).normal(size=(80, 3))
    F[:, 0] += np.where(F[:, 0] > 0, 0.3, -0.3)
    return F, signs(F[:, 0] > 0)


def more_coordinates_than_rows() -> Rows:
    F = np.random.default_rng(0).normal(size=(30, 60))
    return F, signs(F[:, 0] > 0)


def many_rows() -> Rows:
    rng = np.random.default_rng(0)
    F = rng.normal(size=(500, 3))
    return F, signs(F[:, 0] + rng.normal(size=500) > 0)


DATA = [
    moons,
    breast_cancer,
    rare_class,
    rank_deficient,
    duplicate_rows,
    separable,
    more_coordinates_than_rows,
    many_rows,
]


def objective(F: Matrix, y: Matrix, C: float, point: Matrix) -> float:
    w, b = point[:-1], point[-1]
    return float(0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * (F @ w + b)).sum())


def central(F: Matrix, y: Matrix, C: float) -> tuple[float, float, Matrix]:
    """Return LIBSVM's bounds of the true optimum, its dual and its primal objective, and its solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svc = SVC(kernel="linear", C=C, tol=1e-6, max_iter=200_000).fit(F, y)
    w = svc.coef_[0]
    point = np.append(w, svc.intercept_)
    return float(np.abs(svc.dual_coef_).sum() - 0.5 * w @ w), objective(F, y, C, point), point


@dataclass
class Federation:
    """Sites in this process: answers the engine and writes down what it asked."""

    problems: Sequence[Problem]
    sites: Sequence[Sequence[tuple[Matrix, Labels]]]
    asked: list[dict[int, Question]] = field(default_factory=list)
    bounds: list[list[tuple[float, float]]] = field(default_factory=list)

    def ask(self, wanted: Mapping[int, Question]) -> dict[int, Answer]:
        self.asked.append(dict(wanted))
        return {i: self.answer(i, question) for i, question in wanted.items()}

    def answer(self, i: int, question: Question) -> Answer:
        parts = []
        for site in self.sites:
            F, labels = site[i]
            parts += cuts_at(lambda rows, F=F: F[rows], [labels], [question])  # type: ignore[misc]
        cuts = zip(*(astuple(part.cuts) for part in parts), strict=True)
        return Answer(
            Cuts(*(np.sum(part, axis=0) for part in cuts)), np.sum([part.curvature for part in parts], axis=0)
        )

    def report(self, number: int, states: Sequence[Progress]) -> None:
        assert number == len(self.asked)
        self.bounds.append([(state.upper, state.lower) for state in states])

    def solve(
        self,
        search: Callable[[], Search] = PointSearch,
        *,
        tol: float = TOL,
        starts: Sequence[Matrix] | None = None,
        most_rounds: int = 300,
    ) -> list[Progress]:
        return solve(
            self.problems,
            starts or [np.empty((0, problem.rank + 1)) for problem in self.problems],
            self.ask,
            tol=tol,
            search=search,
            report=self.report,
            most_rounds=most_rounds,
        )


def dealt_out(data: Sequence[Rows], Cs: Sequence[float]) -> Federation:
    """Return a federation of three sites that share the rows of every problem unevenly."""
    problems, shares = [], []
    for i, ((F, y), C) in enumerate(zip(data, Cs, strict=True)):
        problems.append(Problem(str(i), F.shape[1], float(len(y)), C, Pair(1, REST)))
        order = np.random.default_rng(0).permutation(len(y))
        parts = np.split(order, [len(y) // 10, len(y) // 2])
        shares.append([(F[part], Labels(y[part], np.ones(len(part)))) for part in parts])
    return Federation(problems, [[share[site] for share in shares] for site in range(3)])


def assert_true_bounds(federation: Federation, i: int, dual: float, primal: float) -> None:
    """Check the bounds after every round against LIBSVM's of the true optimum."""
    rounds = [states[i] for states in federation.bounds]
    uppers, lowers = np.array(rounds).T
    assert (uppers >= dual * (1 - 1e-9)).all()
    assert (lowers <= primal * (1 + 1e-9)).all()
    assert (lowers <= uppers * (1 + 1e-12)).all()
    assert (np.diff(uppers) <= 0).all()
    assert (np.diff(lowers) >= 0).all()


# As good as a central solver


@pytest.mark.parametrize(
    ("C", "tol"), [(1e-2, TOL), (1.0, 1e-6), (1e2, TOL), pytest.param(1e4, TOL, marks=pytest.mark.slow)]
)
def test_it_is_as_good_as_libsvm_and_its_bounds_are_true_in_every_round(
    C: float, tol: float, reordered: Reorder
) -> None:
    data = [reordered(*make()) for make in DATA]
    federation = dealt_out(data, [C] * len(data))
    states = federation.solve(tol=tol)
    for i, ((F, y), state) in enumerate(zip(data, states, strict=True)):
        dual, primal, _ = central(F, y, C)
        assert state.gap <= tol, DATA[i].__name__
        assert state.upper <= primal * (1 + tol), DATA[i].__name__
        assert objective(F, y, C, state.best) == pytest.approx(state.upper, rel=1e-9)
        assert_true_bounds(federation, i, dual, primal)


def test_it_meets_a_tolerance_beyond_single_precision(reordered: Reorder) -> None:
    """Where all rows lie in the kink of their loss, endpoints that are off by 2^-24 of their size are a gap of 1e-6."""
    (state,) = dealt_out([reordered(*more_coordinates_than_rows())], [1.0]).solve(tol=1e-7)
    assert state.gap <= 1e-7


@pytest.mark.parametrize("make", [moons, breast_cancer])
def test_it_takes_far_fewer_rounds_than_the_paper(make: Callable[[], Rows], reordered: Reorder) -> None:
    data = reordered(*make())
    ours, papers = (
        sum(dealt_out([data], [C]).solve(search)[0].rounds for C in (1.0, 10.0))
        for search in (PointSearch, LineSearch)
    )
    assert ours < papers / 2


@pytest.mark.slow
def test_a_whole_curvature_saves_late_rounds() -> None:
    """In all of eight orders: rounding moves each number of rounds by a few, and what is saved in one by as many."""
    X, y = make_moons(800, noise=0.3, random_state=0)
    rows = mapped(X, 200, 3.0), signs(y == 1)
    whole, small = (
        sum(
            dealt_out([in_order(number, *rows)], [100.0]).solve(partial(PointSearch, late=planes))[0].rounds
            for number in range(8)
        )
        for planes in (LATE_PLANES, 0.0)
    )
    assert whole < small


# Rows of one class only, and rows that all look the same


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_problem_without_rows_of_one_class_ends_soon(C: float, sign: float, reordered: Reorder) -> None:
    # One class against all others, where no site trains on a row of it.
    F, y = reordered(*moons())
    (state,) = dealt_out([(F, np.full(len(y), sign))], [C]).solve()
    assert state.rounds <= 5
    assert (np.sign(F @ state.best[:-1] + state.best[-1]) == sign).all()
    assert state.gap == 0.0


def test_a_problem_without_any_rows_ends_at_once() -> None:
    # Two rare classes against each other, without the one fold that has rows of them.
    nothing = np.empty((0, 3)), np.empty(0)
    rest, fine = dealt_out([nothing, moons()], [1.0, 1.0]).solve()
    assert (rest.rounds, rest.gap, rest.failure) == (1, 0.0, "")
    assert not rest.best.any()
    assert fine.gap <= TOL


# Several problems


def test_problems_solved_together_are_solved_as_each_alone() -> None:
    X, y = load_iris(return_X_y=True)
    F = mapped(X, 30, 0.25)
    data, Cs = [(F, signs(y == c)) for c in range(3)], [1.0, 0.01, 50.0]
    together = dealt_out(data, Cs)
    states = together.solve(most_rounds=8)
    for i, C in enumerate(Cs):
        one = dealt_out([data[i]], [C])
        (alone,) = one.solve(most_rounds=8)
        assert (states[i].best == alone.best).all()
        assert states[i].rounds == alone.rounds
        ours = [bounds[i] for bounds in together.bounds[: alone.rounds]]
        assert ours == [bounds[0] for bounds in one.bounds]
    assert len(together.asked) == max(state.rounds for state in states)


def test_a_problem_that_has_converged_is_asked_no_more() -> None:
    federation = dealt_out([moons(), moons()], [1e-3, 1e3])
    easy, hard = federation.solve()
    assert easy.rounds < hard.rounds
    for number, wanted in enumerate(federation.asked, start=1):
        assert (0 in wanted) == (number <= easy.rounds)
        assert 1 in wanted
    for number, bounds in enumerate(federation.bounds, start=1):
        upper, lower = bounds[0]
        assert ((upper - lower) / upper <= TOL) == (number >= easy.rounds)


def test_the_order_of_the_answers_does_not_matter() -> None:
    federation = dealt_out([moons(), separable()], [1.0, 1.0])
    federation.ask = lambda wanted: dict(reversed(Federation.ask(federation, wanted).items()))  # type: ignore[method-assign]
    assert all(state.gap <= TOL for state in federation.solve())


def test_a_problem_whose_master_cannot_be_solved_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solved: list[float] = []

    def failing(
        a: Matrix, d: Matrix, m: Matrix, C: float, rows: float, *, likely: NDArray[np.bool_]
    ) -> MasterSolution:
        if C == 100.0:
            solved.append(C)
            if len(solved) == 4:
                raise TrainingError("The quadratic program was not solved.")
        return solve_master(a, d, m, C, rows, likely=likely)

    monkeypatch.setattr(progress, "solve_master", failing)
    data = [moons(), moons()]
    federation = dealt_out(data, [100.0, 1.0])
    broken, fine = federation.solve()
    assert (broken.failure, broken.rounds) == ("The quadratic program was not solved.", 4)
    assert [0 in wanted for wanted in federation.asked[:5]] == [True] * 4 + [False]
    assert (fine.failure, fine.gap <= TOL) == ("", True)
    asked = np.vstack([wanted[0].points for wanted in federation.asked[:4]])
    assert broken.upper == pytest.approx(min(objective(*data[0], 100.0, point) for point in asked))
    assert objective(*data[0], 100.0, broken.best) == pytest.approx(broken.upper)
    assert 0 < broken.lower <= broken.upper


def test_it_stops_at_the_last_round_and_says_how_far_it_came() -> None:
    federation = dealt_out([moons()], [100.0])
    (state,) = federation.solve(most_rounds=4)
    assert (state.rounds, len(federation.asked)) == (4, 4)
    assert state.gap > TOL
    assert np.isfinite(state.upper)
    assert not state.failure
    assert engine.MAX_ROUNDS >= 100


# Points, cuts and dual variables


def test_starts_are_asked_first_and_a_good_one_saves_round_trips(reordered: Reorder) -> None:
    F, y = reordered(*breast_cancer())
    _, primal, optimum = central(F, y, 10.0)
    (cold,) = dealt_out([(F, y)], [10.0]).solve()
    federation = dealt_out([(F, y)], [10.0])
    (warm,) = federation.solve(starts=[optimum[None, :]])
    near = optimum.astype(np.float32)
    assert federation.asked[0][0].points.tolist() == [[0.0] * len(optimum), near.tolist()]
    assert federation.bounds[0][0][0] == pytest.approx(primal)
    assert warm.gap <= TOL
    assert warm.rounds < cold.rounds


@pytest.mark.parametrize("size", [1e6, 1e300])
def test_a_useless_start_does_no_harm(size: float) -> None:
    """Even beyond single precision: it is asked as near as can be."""
    F, y = moons()
    federation = dealt_out([(F, y)], [1.0])
    (state,) = federation.solve(starts=[np.full((1, F.shape[1] + 1), size)])
    assert np.isfinite(federation.asked[0][0].points).all()
    assert state.upper <= central(F, y, 1.0)[1] * (1 + TOL)
    assert federation.bounds[0][0][0] == pytest.approx(len(y)), "the origin is always asked, too"


def test_ends_and_centres_travel_in_single_precision_as_they_are() -> None:
    federation = dealt_out([moons()], [1.0])
    federation.solve()
    points = np.vstack([one.evaluated_at for questions in federation.asked for one in questions.values()])
    assert len(points) > 10
    assert (points == points.astype(np.float32)).all()
