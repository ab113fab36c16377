"""From dual variables of cutting planes to those of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.systems.pan_svm.cuts import Labels, Problem, Question, cuts_at
from flower_pansvm.systems.selection import Duals, row_duals
from strategies.master.engine import solve
from strategies.master.packing import pack_duals
from strategies.master.progress import Progress
from strategies.master.search import PointSearch

Matrix = NDArray[np.float64]


def solved(F: Matrix, labels: Labels, C: float, tol: float) -> Progress:
    problem = Problem("", F.shape[1], float(labels.weight.sum()), C, Pair(1, REST))

    def ask(wanted: dict[int, Question]) -> dict[int, object]:
        return {0: cuts_at(F.__getitem__, [labels], [wanted[0]])[0]}

    (progress,) = solve(
        [problem],
        [np.empty((0, F.shape[1] + 1))],
        ask,  # type: ignore[arg-type]
        tol=tol,
        search=PointSearch,
        report=lambda *_: None,
    )
    return progress


def some_rows(seed: int, rows: int, rank: int) -> tuple[Matrix, Labels]:
    generator = np.random.default_rng(seed)
    F = generator.normal(size=(rows, rank))
    y = np.where(F[:, 0] + 0.8 * generator.normal(size=rows) > 0, 1.0, -1.0)
    return F, Labels(y, np.where(y > 0, 2.0, 1.0))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 5.0))
def test_they_solve_the_dual_problem(seed: int, C: float) -> None:
    F, labels = some_rows(seed, 60, 4)
    progress = solved(F, labels, C, 1e-3)
    alpha = row_duals(F.__getitem__, labels, progress.duals())
    signed = alpha * labels.y
    assert alpha.min() >= 0
    assert (alpha <= C * labels.weight * (1 + 1e-6)).all()
    assert signed.sum() == pytest.approx(0.0, abs=1e-4 * alpha.sum() + 1e-9)
    dual = alpha.sum() - 0.5 * np.square(signed @ F).sum()
    assert dual == pytest.approx(progress.master.lower, rel=1e-4, abs=1e-6)
    # Classes that can be separated by a tiny w have it all but for the solver's tolerance.
    assert signed @ F == pytest.approx(progress.master.w, abs=1e-3 * np.abs(progress.master.w).max() + 1e-6)


def test_with_a_linear_kernel_the_weights_are_those_of_scikit_learns_svc() -> None:
    """Equation (5.1): the sum of alpha_i y_i x_i over rows, from cuts and from ``SVC``."""
    X, classes = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.where(classes == 1, 1.0, -1.0)
    svc = SVC(kernel="linear", C=0.1, tol=1e-8).fit(X, y)
    expected = svc.dual_coef_[0] @ X[svc.support_]
    # Mapped rows need not be the rows: any rotation is as good, and here the features are another space than f.
    F = X @ np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))[0]
    progress = solved(F, Labels(y, np.ones(len(y))), 0.1, 1e-8)
    alpha = row_duals(F.__getitem__, Labels(y, np.ones(len(y))), progress.duals())
    assert (alpha * y) @ X == pytest.approx(expected, abs=1e-3 * np.abs(expected).max())
    assert np.argsort(np.square((alpha * y) @ X)).tolist() == np.argsort(np.square(expected)).tolist()


def test_support_vectors_are_those_of_scikit_learns_svc() -> None:
    F, labels = some_rows(3, 80, 4)
    labels = Labels(labels.y, np.ones(80))
    progress = solved(F, labels, 1.0, 1e-8)
    alpha = row_duals(F.__getitem__, labels, progress.duals())
    svc = SVC(kernel="linear", C=1.0, tol=1e-8).fit(F, labels.y)
    assert np.flatnonzero(alpha > 1e-3).tolist() == sorted(svc.support_)
    assert alpha[svc.support_] == pytest.approx(np.abs(svc.dual_coef_[0]), abs=1e-3)


def test_rows_in_blocks_have_the_same_duals_and_without_cuts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    F, labels = some_rows(1, 50, 3)
    duals = solved(F, labels, 1.0, 1e-3).duals()
    at_once = row_duals(F.__getitem__, labels, duals)
    monkeypatch.setattr("flower_pansvm.arrays.BLOCK", 7)
    assert row_duals(F.__getitem__, labels, duals) == pytest.approx(at_once, abs=1e-12)
    nothing = Duals(np.empty((0, 4)), np.empty(0))
    assert row_duals(F.__getitem__, labels, nothing).tolist() == [0.0] * 50


def test_cuts_without_a_share_are_left_out_and_the_others_survive_a_message() -> None:
    F, labels = some_rows(2, 50, 3)
    progress = solved(F, labels, 1.0, 1e-4)
    duals = [progress.duals(), Progress(Problem("", 5, 0.0, 1.0, Pair(1, REST))).duals()]
    assert 0 < len(duals[0].beta) < len(progress.cuts.m)
    problems = [Problem("", rank, 0.0, 1.0, Pair(1, REST)) for rank in (3, 5)]
    again = pack_duals(problems, duals).duals()
    for one, other in zip(duals, again, strict=True):
        assert one.points.tolist() == other.points.tolist()
        assert one.beta.tolist() == other.beta.tolist()
    assert len(again[1].beta) == 0
