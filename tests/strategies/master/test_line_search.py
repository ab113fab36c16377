"""``search=published``: Algorithms 2 and 3, step by step."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from flower_pansvm.kernels import Kernel
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.systems.pan_svm.cuts import Answer, Cuts, Labels, Problem, Question, cuts_at
from strategies.master.line_search import STEP, LineSearch
from strategies.master.master import MasterSolution
from strategies.master.progress import Progress
from strategies.steps.feature_maps import fit_map

Matrix = NDArray[np.float64]


def moons() -> tuple[Matrix, Matrix]:
    X, y = make_moons(120, noise=0.25, random_state=0)
    return fit_map(Kernel("rbf", 1.0), X[:25]).transform(X), np.where(y == 1, 1.0, -1.0)


def objective(F: Matrix, y: Matrix, C: float, point: Matrix) -> float:
    return float(
        0.5 * point[:-1] @ point[:-1] + C * np.maximum(0, 1 - y * (F @ point[:-1] + point[-1])).sum()
    )


def rounds(F: Matrix, y: Matrix, C: float, count: int) -> Iterator[tuple[Question, Progress]]:
    """Return each question and what is known after its answer."""
    search = LineSearch()
    progress = Progress(Problem("", F.shape[1], float(len(y)), C, Pair(1, REST)))
    question = search.first(progress, np.ones((1, F.shape[1] + 1)))
    labels = Labels(y, np.ones(len(y)))
    for _ in range(count):
        answer = cuts_at(lambda rows: F[rows], [labels], [question])[0]
        progress.learn(question, answer)
        yield question, progress
        question = search.next(progress, question, answer)


def one_cut(w: float, a: float, d: float, C: float = 2.0) -> tuple[Progress, Answer]:
    """Return the progress of a problem with one weight, its master's solution at (w, 1), and an answer of one cut."""
    progress = Progress(Problem("", 1, 5.0, C, Pair(1, REST)))
    progress.master = MasterSolution(np.array([w]), 1.0, np.empty(0), 0.0, 0.0)
    return progress, Answer(Cuts(np.array([[a]]), np.array([d]), np.ones(1), np.ones(1)), np.empty(0))


def test_the_derivative_by_hand() -> None:
    # From w = b = 0 towards (4, 1), C = 2. At k lambda = 1/2 the derivative is 4 * 2 - 2 (4 a + 1 d).
    search = LineSearch()
    progress, answer = one_cut(4.0, a=3.0, d=0.0)
    question = search.first(progress, np.ones((1, 2)))
    assert question.points.tolist() == [[0.0, 0.0]], "it knows no start"
    question = search.next(progress, question, answer)
    assert question.points.tolist() == [[2.0, 0.5]], "no direction yet: the derivative is 0"
    falling = one_cut(9.0, a=0.5, d=2.5)[1]  # 8 - 2 * 4.5 = -1
    question = search.next(progress, question, falling)
    assert question.points.tolist() == [[4.0, 1.0]], "one step further, whatever the master says now"
    progress = one_cut(6.0, a=0.0, d=0.0)[0]
    flat = one_cut(6.0, a=2.0, d=0.0)[1]  # 4 * 4 - 2 * 8 = 0
    question = search.next(progress, question, flat)
    assert question.points.tolist() == [[5.0, 1.0]], "half way from there to the master's new solution"


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_it_walks_on_while_the_objective_falls_and_turns_where_it_rises(C: float) -> None:
    F, y = moons()
    base = np.zeros(F.shape[1] + 1)
    target, k, turns = base, 0, 0
    for number, (question, progress) in enumerate(rounds(F, y, C, 40)):
        point = question.points[0]
        assert point == pytest.approx(base + k * STEP * (target - base), abs=1e-9)
        further = objective(F, y, C, point + 1e-7 * (target - base))
        if number == 0 or further >= objective(F, y, C, point):
            base, target, k = point, np.append(progress.master.w, progress.master.b), 0
            turns += 1
        k += 1
    assert 2 < turns < 40


def test_it_reaches_the_optimum() -> None:
    F, y = moons()
    svc = SVC(kernel="linear", C=1.0, tol=1e-8).fit(F, y)
    optimum = objective(F, y, 1.0, np.append(svc.coef_[0], svc.intercept_))
    *_, (_, progress) = rounds(F, y, 1.0, 100)
    assert optimum * (1 - 1e-6) <= progress.upper <= optimum * (1 + 1e-3)
    assert progress.lower <= optimum * (1 + 1e-6)
    assert progress.gap <= 1e-3
