"""The cutting-plane loop: as good as a central solver, and honest about how good."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from flower_pansvm.cutting_planes import engine
from flower_pansvm.cutting_planes.cuts import Cuts, cuts_at
from flower_pansvm.cutting_planes.engine import Problem, Progress, line_points, solve
from flower_pansvm.kernels import Kernel
from flower_pansvm.nystroem import NystromMap

Point = NDArray[np.float64]
Rows = tuple[NDArray[np.float64], NDArray[np.float64]]

TOL = 1e-3


def signs(y: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.where(y, 1.0, -1.0)


def mapped(X: NDArray[np.float64], landmarks: int, gamma: float) -> NDArray[np.float64]:
    """Return the rows mapped by an RBF kernel, every so-many-th row a landmark."""
    Z = StandardScaler().fit_transform(X)
    return NystromMap.fit(Kernel("rbf", gamma), Z[:: len(Z) // landmarks]).transform(Z)


def moons() -> Rows:
    X, y = make_moons(200, noise=0.25, random_state=0)
    return mapped(X, 40, 1.0), signs(y == 1)


def breast_cancer() -> Rows:
    X, y = load_breast_cancer(return_X_y=True)
    return mapped(X[:300], 50, 1 / 30), signs(y[:300] == 1)


def rare_class() -> Rows:
    X, y = make_classification(400, 8, weights=[0.97], class_sep=0.7, flip_y=0.01, random_state=1)
    assert 8 <= y.sum() <= 20
    return mapped(X, 50, 1 / 8), signs(y == 1)


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


DATA = [moons, breast_cancer, rare_class, rank_deficient, duplicate_rows, separable]


def objective(F: NDArray[np.float64], y: NDArray[np.float64], C: float, point: Point) -> float:
    w, b = point[:-1], point[-1]
    return float(0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * (F @ w + b)).sum())


def central(F: NDArray[np.float64], y: NDArray[np.float64], C: float) -> tuple[float, float, Point]:
    """Return LIBSVM's bounds of the true optimum, its dual and its primal objective, and its solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svc = SVC(kernel="linear", C=C, tol=1e-7, max_iter=3_000_000).fit(F, y)
    w = svc.coef_[0]
    point = np.append(w, svc.intercept_)
    return float(np.abs(svc.dual_coef_).sum() - 0.5 * w @ w), objective(F, y, C, point), point


@dataclass
class Federation:
    """Sites in this process: answers the engine and writes down what it asked."""

    sites: Sequence[Mapping[int, Rows]]
    asked: list[dict[int, NDArray[np.float64]]] = field(default_factory=list)
    bounds: list[list[tuple[float, float]]] = field(default_factory=list)

    def ask(self, wanted: Mapping[int, NDArray[np.float64]]) -> dict[int, Cuts]:
        self.asked.append(dict(wanted))
        replies = {}
        for i, points in wanted.items():
            parts = [cuts_at(*site[i], points) for site in self.sites]
            names = ("a", "d", "m", "loss")
            replies[i] = Cuts(*(np.sum([getattr(part, name) for part in parts], axis=0) for name in names))
        return replies

    def report(self, number: int, states: Sequence[Progress]) -> None:
        assert number == len(self.asked)
        self.bounds.append([(state.upper, state.lower) for state in states])

    def solve(
        self,
        Cs: Sequence[float],
        *,
        points: int = 8,
        tol: float = TOL,
        starts: Sequence[NDArray[np.float64]] | None = None,
    ) -> list[Progress]:
        ranks = [self.sites[0][i][0].shape[1] for i in range(len(Cs))]
        rows = [float(sum(len(site[i][1]) for site in self.sites)) for i in range(len(Cs))]
        problems = [Problem(str(i), ranks[i], rows[i], C) for i, C in enumerate(Cs)]
        nothing = [np.empty((0, rank + 1)) for rank in ranks]
        return solve(problems, starts or nothing, self.ask, tol=tol, points=points, report=self.report)


def dealt_out(problems: Sequence[Rows], sites: int = 3) -> Federation:
    """Return a federation whose sites share the rows of every problem unevenly."""
    shares = []
    for F, y in problems:
        order = np.random.default_rng(0).permutation(len(y))
        parts = np.split(order, [len(y) // 10, len(y) // 2][: sites - 1])
        shares.append([(F[part], y[part]) for part in parts])
    return Federation([{i: share[site] for i, share in enumerate(shares)} for site in range(sites)])


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4])
def test_it_is_as_good_as_libsvm_and_its_bounds_are_true_in_every_round(C: float) -> None:
    data = [make() for make in DATA]
    federation = dealt_out(data)
    states = federation.solve([C] * len(data))
    for i, ((F, y), state) in enumerate(zip(data, states, strict=True)):
        dual, primal, _ = central(F, y, C)
        name = DATA[i].__name__
        assert state.gap <= TOL, name
        assert state.upper <= primal * (1 + TOL), name
        assert objective(F, y, C, state.best) == pytest.approx(state.upper, rel=1e-9), name
        uppers, lowers = np.array([round_[i] for round_ in federation.bounds]).T
        assert (uppers >= dual * (1 - 1e-9)).all(), name
        assert (lowers <= primal * (1 + 1e-9)).all(), name
        assert (lowers <= uppers * (1 + 1e-12)).all(), name
        assert (np.diff(uppers) <= 0).all(), name
        assert (np.diff(lowers) >= 0).all(), name


def test_the_papers_plain_algorithm_2() -> None:
    F, y = moons()
    federation = dealt_out([(F, y)])
    state = federation.solve([1.0], points=1)[0]
    assert state.gap <= TOL
    assert state.upper <= central(F, y, 1.0)[1] * (1 + TOL)
    assert [len(wanted[0]) for wanted in federation.asked] == [1] * state.rounds
    assert (federation.asked[0][0] == 0).all(), "it begins at the origin"
    eight = dealt_out([(F, y)])
    assert eight.solve([1.0], points=8)[0].rounds < state.rounds / 2


def test_a_tighter_tolerance_is_met() -> None:
    F, y = breast_cancer()
    state = dealt_out([(F, y)]).solve([1.0], tol=1e-6)[0]
    dual, primal, _ = central(F, y, 1.0)
    assert state.gap <= 1e-6
    assert state.upper <= primal * (1 + 1e-6)
    assert state.lower >= dual * (1 - 1e-6)


def test_problems_solved_together_are_solved_as_each_alone() -> None:
    X, y = load_iris(return_X_y=True)
    F = mapped(X, 30, 0.25)
    problems = [(F, signs(y == c)) for c in range(3)]
    together = dealt_out(problems)
    states = together.solve([1.0, 0.01, 50.0])
    for i, C in enumerate([1.0, 0.01, 50.0]):
        alone = dealt_out([problems[i]]).solve([C])[0]
        assert states[i].best == pytest.approx(alone.best, rel=1e-6, abs=1e-6)
        assert states[i].rounds == alone.rounds
    assert len(together.asked) == max(state.rounds for state in states)


def test_problems_of_different_rank_are_solved_together() -> None:
    data = [separable(), moons()]
    states = dealt_out(data).solve([1.0, 1.0])
    assert [len(state.best) for state in states] == [F.shape[1] + 1 for F, _ in data]
    assert all(state.gap <= TOL for state in states)


def test_a_problem_that_has_converged_is_asked_no_more() -> None:
    data = [moons(), moons()]
    federation = dealt_out(data)
    easy, hard = federation.solve([1e-3, 1e3])
    assert easy.rounds < hard.rounds
    for number, wanted in enumerate(federation.asked, start=1):
        assert (0 in wanted) == (number <= easy.rounds)
        assert 1 in wanted
    for number, round_ in enumerate(federation.bounds, start=1):
        upper, lower = round_[0]
        assert ((upper - lower) / upper <= TOL) == (number >= easy.rounds)


def test_the_best_point_is_one_that_was_asked() -> None:
    federation = dealt_out([moons()])
    state = federation.solve([10.0])[0]
    asked = np.vstack([wanted[0] for wanted in federation.asked])
    assert (asked == state.best).all(axis=1).any()
    assert len(state.cuts.m) == len(asked), "every cut is kept"


def test_starts_are_asked_first_and_a_good_one_saves_round_trips() -> None:
    F, y = breast_cancer()
    _, primal, optimum = central(F, y, 10.0)
    cold = dealt_out([(F, y)]).solve([10.0])[0]
    federation = dealt_out([(F, y)])
    warm = federation.solve([10.0], starts=[optimum[None, :]])[0]
    assert federation.asked[0][0].tolist() == [[0.0] * len(optimum), optimum.tolist()]
    assert federation.bounds[0][0][0] == pytest.approx(primal)
    assert warm.gap <= TOL
    assert warm.rounds < cold.rounds


def test_a_useless_start_does_no_harm() -> None:
    F, y = moons()
    federation = dealt_out([(F, y)])
    far = np.full((1, F.shape[1] + 1), 1e6)
    state = federation.solve([1.0], starts=[far])[0]
    assert state.upper <= central(F, y, 1.0)[1] * (1 + TOL)
    assert federation.bounds[0][0][0] == pytest.approx(len(y)), "the origin is always asked, too"


def test_dual_variables_give_the_weights_from_the_rows() -> None:
    # alpha_i = sum_t beta_t c_i(t) are SVM dual variables: feature selection rests on it.
    F, y = moons()
    C = 10.0
    federation = dealt_out([(F, y)])
    state = federation.solve([C], tol=1e-5)[0]
    points = np.vstack([wanted[0] for wanted in federation.asked])
    c = (y[:, None] * (F @ points[:, :-1].T + points[:, -1]) < 1).astype(np.float64)
    alpha = c @ state.beta
    assert alpha.min() >= 0
    assert alpha.max() <= C * (1 + 1e-9)
    assert alpha @ y == pytest.approx(0.0, abs=1e-6 * alpha.sum())
    w = (alpha * y) @ F
    assert w == pytest.approx(state.beta @ state.cuts.a, abs=1e-6 * np.abs(w).max())
    dual = alpha.sum() - 0.5 * w @ w
    assert dual <= state.lower * (1 + 1e-9)
    assert dual == pytest.approx(state.upper, rel=1e-4)
    _, _, optimum = central(F, y, C)
    assert np.linalg.norm(w - optimum[:-1]) <= 0.02 * np.linalg.norm(optimum[:-1])


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_problem_without_rows_of_one_class_ends_soon(C: float, sign: float) -> None:
    # One class against all others, where no site trains on a row of it.
    F, y = moons()
    state = dealt_out([(F, np.full(len(y), sign))]).solve([C])[0]
    assert state.rounds <= 5
    assert (np.sign(F @ state.best[:-1] + state.best[-1]) == sign).all()
    assert state.gap == 0.0


def test_it_stops_at_the_last_round_and_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MAX_ROUNDS", 4)
    federation = dealt_out([moons()])
    state = federation.solve([100.0])[0]
    assert (state.rounds, len(federation.asked)) == (4, 4)
    assert state.gap > TOL
    assert np.isfinite(state.upper)


def test_line_points() -> None:
    best, target = np.array([1.0, 2.0, 0.0]), np.array([3.0, 0.0, 1.0])
    found = line_points(best, target, np.array([0.0, 0.5, 1.0]))
    assert found.tolist() == [[1.0, 2.0, 0.0], [2.0, 1.0, 0.5], [3.0, 0.0, 1.0]]


def test_points_lie_on_the_line_to_the_masters_solution() -> None:
    federation = dealt_out([moons()])
    federation.solve([1.0], points=6)
    for wanted in federation.asked[1:]:
        points = wanted[0]
        assert len(points) == 6
        # Steps grow by the same factor from 1/50 to 1, so differences from the last point are parallel.
        steps = np.geomspace(0.02, 1.0, 6)
        best = (points[0] - steps[0] * points[-1]) / (1 - steps[0])
        assert points == pytest.approx(best + steps[:, None] * (points[-1] - best), abs=1e-7)
