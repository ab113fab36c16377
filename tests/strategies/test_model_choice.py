"""Cross-validation over a grid: what a central one finds, folds that stay out, and points that fail."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from flower_pansvm.errors import TrainingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.nystroem import NystromMap
from simulations.engines.in_process import train_in_process
from strategies.master import progress
from strategies.master.progress import Progress
from strategies.pan_svm import model_choice
from strategies.pan_svm.model_choice import Choice, GridPoint
from strategies.pan_svm.strategy import PanSVM
from strategies.results import describe
from strategies.settings import Settings, make_settings
from strategies.steps.feature_maps import fit_map
from strategies.steps.scoring import score_held_out

Matrix = NDArray[np.float64]


def settings_of(**config: Any) -> Settings:
    return make_settings(**{"cv_folds": 2, "privacy": "exact", "landmarks": "20", **config})


def train(**config: Any) -> PanSVM:
    return train_in_process(settings_of(**config))


def chosen(strategy: PanSVM) -> Choice:
    assert strategy.choice is not None
    return strategy.choice


def accuracy_of(strategy: PanSVM) -> dict[tuple[float, float], float]:
    return {(point.C, point.gamma): point.accuracy for point in chosen(strategy).points}


@pytest.fixture
def moons(write_table: Callable[..., str]) -> str:
    X, y = make_moons(300, noise=0.25, random_state=0)
    return write_table(X * [1.0, 50.0], y)


@dataclass
class Told:
    """What each fold's models were made of."""

    landmarks: list[Matrix]
    weights: dict[tuple[float, int], Matrix]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Record the landmarks of every fold, and the weights by C and fold."""
    found = Told([], {})
    gather, train = model_choice.gather_landmarks, model_choice._train

    def gather_and_tell(*arguments: Any) -> list[Matrix]:
        found.landmarks = gather(*arguments)
        return found.landmarks

    def train_and_tell(*arguments: Any) -> list[Progress]:
        solved = train(*arguments)
        found.weights = {(state.problem.C, state.problem.fold): state.best for state in solved}
        return solved

    monkeypatch.setattr(model_choice, "gather_landmarks", gather_and_tell)
    monkeypatch.setattr(model_choice, "_train", train_and_tell)
    return found


# Against a central cross-validation


@pytest.mark.parametrize("data", ["moons", pytest.param("breast_cancer", marks=pytest.mark.slow)])
def test_accuracies_are_those_of_a_central_cross_validation(
    data: str, moons: str, told: Told, pool: Callable[..., Any]
) -> None:
    data = moons if data == "moons" else data
    settings = settings_of(data=data, C="0.5,8", gamma="0.01,0.03", cv_folds=3, landmarks="80", tol=1e-3)
    strategy = train_in_process(settings)
    rows = pool(settings, strategy.model.schema_)
    assert len(accuracy_of(strategy)) == 4
    for (C, gamma), found in accuracy_of(strategy).items():
        exact, mapped = [], []
        for fold in range(3):
            inside, out = rows.folds != fold, rows.folds == fold
            scaler = StandardScaler().fit(rows.X[inside])
            X, X_out = scaler.transform(rows.X[inside]), scaler.transform(rows.X[out])
            y, y_out = rows.classes[inside], rows.classes[out]
            exact.append(SVC(C=C, gamma=gamma).fit(X, y).score(X_out, y_out))
            f = fit_map(Kernel("rbf", gamma), told.landmarks[fold]).transform
            mapped.append(SVC(kernel="linear", C=C).fit(f(X), y).score(f(X_out), y_out))
        # They are compared at a gap of 1e-2.
        assert found == pytest.approx(np.mean(mapped), abs=0.016)
        assert found == pytest.approx(np.mean(exact), abs=0.02)


@pytest.mark.slow
def test_the_best_point_is_trained_with(moons: str) -> None:
    settings = settings_of(data=moons, C="0.01,10", gamma="0.001,1", landmarks="30", tol=0.02)
    strategy = train_in_process(settings)
    best = chosen(strategy).best
    # The moons are not to be told apart by next to no curvature and hardly a penalty.
    assert (best.C, best.gamma) == (10.0, 1.0)
    assert best.accuracy == max(accuracy_of(strategy).values())
    assert strategy.model.feature_map_.kernel.gamma == 1.0
    assert strategy.training.problems[0].C == 10.0
    result = describe(strategy, settings)
    assert (result["chosen"]["C"], result["chosen"]["gamma"]) == (10.0, 1.0)
    assert (result["config"]["C"], result["config"]["gamma"]) == ("0.01,10", "0.001,1")
    assert len(result["chosen"]["grid"]) == 4


@pytest.mark.slow
def test_gamma_scale_is_that_of_all_rows_with_and_without_model_choice(moons: str) -> None:
    one, other = (train(data=moons, C=C, tol=0.05).model.feature_map_.kernel for C in (1.0, "1,1"))
    assert one.gamma == pytest.approx(other.gamma)


@pytest.mark.parametrize("level", ["exact", "perturbed"])
@pytest.mark.slow
def test_the_whole_grid_takes_few_round_trips(level: str, moons: str) -> None:
    trips = {}
    for C_grid in ("1,1", "0.25,1,4,16"):
        strategy = train(data=moons, C=C_grid, tol=0.02, privacy=level)
        trips[C_grid] = chosen(strategy).cut_rounds
        own = strategy.federation.costs.round_trips - max(s.rounds for s in strategy.training.progress)
        # Landmarks, warm start and scores of all folds, and the six of every run.
        assert own - trips[C_grid] == 8
    assert trips["0.25,1,4,16"] <= trips["1,1"] + 5


def test_of_equal_points_the_simplest_is_best() -> None:
    points = tuple(
        GridPoint(C, gamma, accuracy, 0.0, 0.0)
        for C, gamma, accuracy in [(4, 1, 0.9), (1, 2, 0.9), (1, 1, 0.9), (0.5, 1, 0.8)]
    )
    assert Choice(points, 1).best == points[2]


# A fold's rows


@pytest.mark.slow
def test_rows_of_a_fold_have_no_part_in_its_models(
    write_table: Callable[..., str], told: Told, pool: Callable[..., Any]
) -> None:
    """Other cells in the rows of fold 0 change neither its landmarks nor its weights, but those of the other folds."""
    X, y = make_moons(200, noise=0.25, random_state=0)
    settings = settings_of(
        data=write_table(X, y), C="2,2", gamma="0.5", cv_folds=3, landmarks="15", test_fraction=0.0, tol=0.05
    )
    strategy = train_in_process(settings)
    before = Told(told.landmarks, dict(told.weights))
    rows = pool(settings, strategy.model.schema_)
    moved = rows.X + np.where(rows.folds == 0, 1.5, 0.0)[:, None] * [1.0, -2.0]
    place = {tuple(row): number for number, row in enumerate(map(tuple, rows.X))}
    changed = np.array([moved[place[tuple(row)]] for row in X])
    train_in_process(replace(settings, data=write_table(changed, y, "changed")))
    assert told.landmarks[0] == pytest.approx(before.landmarks[0], abs=1e-9)
    assert told.weights[2.0, 0] == pytest.approx(before.weights[2.0, 0], abs=1e-6)
    assert np.abs(told.landmarks[1] - before.landmarks[1]).max() > 0.1


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.slow
def test_a_fold_without_one_class_is_tried_all_the_same(
    multi_class: str, write_table: Callable[..., str]
) -> None:
    X, y = make_moons(120, noise=0.2, random_state=0)
    # Four rows of a third class: some folds have none, and so have some sites.
    rare = np.array([[3.0, 3.0], [3.1, 3.0], [3.0, 3.1], [3.1, 3.1]])
    data = write_table(np.vstack([X, rare]), np.append(y, [2] * 4))
    config = {"C": "2,2", "cv_folds": 5, "landmarks": "14", "test_fraction": 0.0, "multi_class": multi_class}
    strategy = train(data=data, sites=4, tol=0.3, **config)
    assert not any(point.failure for point in chosen(strategy).points)
    assert chosen(strategy).best.accuracy > 0.85


@pytest.mark.parametrize("config", [{"class_weight": "balanced"}, {"multi_class": "ovo"}], ids=str)
@pytest.mark.slow
def test_a_class_of_a_single_row_is_missing_from_the_training_rows_of_its_fold(
    config: dict[str, Any], write_table: Callable[..., str]
) -> None:
    X, y = make_moons(80, noise=0.2, random_state=0)
    data = write_table(np.vstack([X, [[3.0, 3.0]]]), np.append(y, 2))
    usual = {"C": "1,1", "landmarks": "15", "test_fraction": 0.0, "probability": True}
    strategy = train(data=data, sites=3, tol=0.01, **usual, **config)
    assert 0.6 < chosen(strategy).best.accuracy < 1.0
    assert np.isfinite(strategy.model.coef_).all()


@pytest.mark.parametrize(
    ("class_weight", "share"), [("none", 0.92), ("balanced", 0.6), ((1.0, 9.0), 0.6), ((1.0, 1.0), 0.92)]
)
def test_held_out_rows_count_as_their_class_weighs_in_training(
    class_weight: str | tuple[float, ...], share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With class-weight=balanced the best C was the one that was right for most rows, of a rare class for none."""
    counted = SimpleNamespace(confusion=np.array([[[90.0, 0.0], [8.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]]))
    monkeypatch.setattr("strategies.steps.scoring.score", lambda *_: counted)
    model = [SimpleNamespace(problem=SimpleNamespace(feature_map=0, fold=0), best=np.zeros(3))]
    shares, rows = score_held_out(cast(Any, None), cast(Any, [model, model]), (), class_weight)
    assert shares == pytest.approx([share, 0.0])
    assert rows.tolist() == [100, 0]


# Points that fail


@pytest.mark.slow
def test_a_map_that_fails_leaves_out_its_gamma_only(moons: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(kernel: Kernel, landmarks: Matrix) -> NystromMap:
        if kernel.gamma == 1.0:
            raise TrainingError("no map for this one")
        return fit_map(kernel, landmarks)

    monkeypatch.setattr("strategies.pan_svm.model_choice.fit_map", fails)
    strategy = train(data=moons, gamma="0.25,1,4", tol=0.05)
    failures = {point.gamma: point.failure for point in chosen(strategy).points}
    assert failures == {0.25: "", 1.0: "no map for this one", 4.0: ""}


@pytest.mark.slow
def test_a_program_that_is_not_solved_leaves_out_its_point_only(
    moons: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve = progress.solve_master

    def fails(a: Matrix, d: Matrix, m: Matrix, C: float, rows: float, **options: Any) -> Any:
        if C == 4.0:
            raise TrainingError("not solved")
        return solve(a, d, m, C, rows, **options)

    monkeypatch.setattr(progress, "solve_master", fails)
    strategy = train(data=moons, C="1,4", tol=0.05)
    assert {point.C: point.failure for point in chosen(strategy).points} == {1.0: "", 4.0: "not solved"}


def test_when_every_point_fails_the_first_reason_is_said(moons: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(kernel: Kernel, landmarks: Matrix) -> NystromMap:
        raise TrainingError("no map")

    monkeypatch.setattr("strategies.pan_svm.model_choice.fit_map", fails)
    with pytest.raises(TrainingError, match="C=1 gamma=10: no map"):
        train(data=moons, C="1,2", gamma="10")
