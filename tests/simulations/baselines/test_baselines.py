"""The central baselines: scikit-learn's own figures on the same rows, and what they refuse."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from flower_pansvm.errors import SettingError
from simulations.baselines import federated, gradient_descent
from simulations.baselines.gradient_descent import first_weights, gradient, outputs
from simulations.baselines.registry import BASELINES, BaselineFigures, settings_read
from simulations.data.pooling import Pooled, PooledRows, pooled
from simulations.engines.in_process import train_in_process
from strategies.settings import make_settings
from strategies.svm_settings import PanSvmSettings


def settings_of(**values: object) -> PanSvmSettings:
    settings = make_settings(**values)
    assert isinstance(settings, PanSvmSettings)
    return settings


def run(name: str, pool: Pooled | None = None, **values: object) -> BaselineFigures:
    settings = settings_of(**values)
    pool = pool or pooled(settings)
    return BASELINES[name](settings, pool.train, pool.test)


def test_svc_has_scikit_learns_figures() -> None:
    found = run("central:svc", C=4.0, seed=2).evaluation
    pool = pooled(settings_of(seed=2))
    svc = make_pipeline(StandardScaler(), SVC(C=4.0)).fit(pool.train.X, pool.train.classes)
    predicted, y = svc.predict(pool.test.X), pool.test.classes
    assert found.accuracy == np.mean(predicted == y)
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, predicted))
    assert found.f1 == pytest.approx(f1_score(y, predicted))
    assert found.auc == pytest.approx(roc_auc_score(y, svc.decision_function(pool.test.X)))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "fedavg:logistic")) for name in BASELINES],
)
def test_each_learns_and_is_judged_by_the_same_measures_twice_the_same(name: str) -> None:
    if name.startswith("fedxgb"):
        pytest.importorskip("xgboost", reason="the extra 'boosting' is not installed")
    first = run(name, data="wine")
    assert first == run(name, data="wine")
    if name == "central:fourier":  # 36 cosines say less of 13 columns than 36 landmarks
        assert (first.evaluation.accuracy or 0) > 0.6
    elif name != "dp-fedavg:logistic":  # whose noise hides a whole one of five sites
        assert (first.evaluation.accuracy or 0) > 0.85
    assert first.evaluation.auc is not None
    assert first.converged in (True, None)


@pytest.mark.slow
def test_its_area_under_the_curve_is_that_of_the_federation() -> None:
    # The federation's is from a histogram; its model, with every other row a landmark, is nearly the SVC.
    settings = settings_of(landmarks=0.5, min_cluster=1, privacy="exact", C=1.0)
    federated = train_in_process(settings).outcome.evaluation
    central = run("central:svc", landmarks=0.5)
    assert central.evaluation.auc == pytest.approx(federated.auc, abs=0.005)


def test_the_nystroem_map_of_all_rows_is_the_kernel_machine() -> None:
    values = {"data": "wine", "C": 1.0, "gamma": 0.05}
    nystroem, svc = run("central:nystroem", landmarks=0.999, **values), run("central:svc", **values)
    assert nystroem.evaluation.accuracy == pytest.approx(svc.evaluation.accuracy, abs=0.03)


def test_balanced_classes_favour_the_rare_one() -> None:
    pool = pooled(settings_of())
    rare = pool.train.classes == 0
    few = ~rare | (np.cumsum(rare) <= 8)
    pool = replace(pool, train=pool.train.of(few))
    plain = run("central:svc", pool, C=0.05).evaluation
    even = run("central:svc", pool, C=0.05, class_weight="balanced").evaluation
    assert even.balanced_accuracy > plain.balanced_accuracy + 0.1


@pytest.mark.parametrize("hidden", [0, 4])
def test_the_gradient_is_that_of_the_loss(hidden: int) -> None:
    generator = np.random.default_rng(0)
    X, y, of_row = generator.normal(size=(20, 3)), generator.integers(0, 3, 20), generator.random(20)
    weights = [one + 0.1 * generator.normal(size=one.shape) for one in first_weights(3, hidden, 3, 0)]

    def loss() -> float:
        return float(-np.mean(of_row * log_softmax(outputs(weights, X)[-1], axis=1)[np.arange(20), y]))

    for array, slopes in zip(weights, gradient(weights, X, y, of_row), strict=True):
        for place in np.ndindex(array.shape):
            array[place] += 1e-6
            above = loss()
            array[place] -= 2e-6
            assert slopes[place] == pytest.approx((above - loss()) / 2e-6, abs=1e-6)
            array[place] += 1e-6


def test_where_sites_differ_scaffold_comes_to_the_model_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites of one class each: each site's steps go its own way, which its control variate takes off."""
    found: dict[str, NDArray[np.float64]] = {}
    monkeypatch.setattr(gradient_descent, "BATCH", 10**6)
    monkeypatch.setattr(federated, "ROUNDS", 60)
    monkeypatch.setattr(gradient_descent, "judged", lambda _, scores, *__: found.update({name: scores}))
    settings = settings_of(data="wine", C=0.02)
    pool = pooled(settings)
    apart = replace(pool, train=replace(pool.train, sites=pool.train.classes))
    for name in ("fedavg:logistic", "fedprox:logistic", "scaffold:logistic"):
        algorithm = name.split(":")[0]
        gradient_descent.train_and_judge(algorithm, 0, settings, apart.train, apart.test)
    scale = StandardScaler().fit(pool.train.X)
    central = LogisticRegression(C=0.02, tol=1e-8, max_iter=1000)
    central.fit(scale.transform(pool.train.X), pool.train.classes)
    right = central.decision_function(scale.transform(pool.test.X))
    off = {name: np.abs(one - one.mean(1, keepdims=True) - right).max() for name, one in found.items()}
    assert off["scaffold:logistic"] < 0.1 * off["fedavg:logistic"]
    assert off["fedprox:logistic"] < off["fedavg:logistic"]


def test_sites_with_the_same_rows_grow_the_trees_of_one() -> None:
    xgboost = pytest.importorskip("xgboost", reason="the extra 'boosting' is not installed")
    pool = pooled(settings_of())
    rows, twice = pool.train, np.tile(np.arange(len(pool.train.classes)), 2)
    both = replace(rows.of(twice), sites=np.repeat([0, 1], len(rows.classes)))
    found = run("fedxgb:bagging", replace(pool, train=both))
    scale = StandardScaler().fit(rows.X)
    table = xgboost.DMatrix(scale.transform(rows.X), label=rows.classes)
    of_one = {"objective": "binary:logistic", "base_score": 0.5, "eta": 0.3, "nthread": 1}
    trees = xgboost.train(of_one, table, num_boost_round=federated.ROUNDS)
    margins = trees.predict(xgboost.DMatrix(scale.transform(pool.test.X)), output_margin=True)
    assert found.evaluation.accuracy == np.mean((margins > 0) == pool.test.classes)
    assert found.evaluation.auc == pytest.approx(roc_auc_score(pool.test.classes, margins), abs=1e-3)
    assert found.bytes_up > 0


def test_a_solver_that_was_stopped_says_so() -> None:
    assert run("central:nystroem", C=1e6, landmarks=40, data="breast_cancer").converged is False


def test_what_cannot_be_trained_is_refused() -> None:
    with pytest.raises(SettingError, match="choose"):
        run("central:svc", C="auto")
    pool = pooled(settings_of(data="iris"))
    lacking = replace(pool, train=pool.train.of(pool.train.classes != 2))
    with pytest.raises(SettingError, match="test-fraction"):
        run("central:svc", lacking, data="iris")
    with pytest.raises(SettingError, match="'central:tree'"):
        BASELINES["central:tre"]


def test_no_test_rows_no_figures() -> None:
    assert run("central:tree", data="iris", test_fraction=0.0).evaluation.accuracy is None


@pytest.mark.parametrize("name", [name for name in BASELINES if name.startswith("central:")])
def test_what_a_baseline_is_said_to_read_changes_it(name: str) -> None:
    """And nothing else of an SVM's settings does."""
    other = {"C": 0.001, "gamma": "5", "kernel": "linear", "landmarks": "3"}
    if name == "central:fourier":
        del other["kernel"]  # which it refuses
    generator, nobody = np.random.default_rng(0), np.full(200, -1)
    X = generator.normal(size=(2, 200, 3))
    classes = (X[..., 0] * X[..., 1] + X[..., 2] + generator.normal(size=X.shape[:2]) > 0).astype(int)
    rows = [PooledRows(*one, nobody, nobody, np.arange(200)) for one in zip(X, classes, strict=True)]

    def figures(**changed: Any) -> Any:
        found = BASELINES[name](settings_of(**changed), *rows).evaluation
        return found.accuracy, found.auc

    usual = figures()
    found = {key for key, value in other.items() if figures(**{key: value}) != usual}
    assert found == settings_read(name) & other.keys()
