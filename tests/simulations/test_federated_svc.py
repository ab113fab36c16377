"""The federation as an estimator of scikit-learn."""

import logging
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_info

from flower_pansvm.errors import PanSVMError, SettingError
from simulations.federated_svc import FederatedSVC
from strategies.settings import make_settings

EXACT = {"privacy": "exact", "sites": 3, "random_state": 0, "settings": {"tol": 1e-5}}

NOT_AS_SCIKIT_LEARN = {
    "check_class_weight_classifiers": "One class weighs ten million times another there, and sites accept a thousand."
}
"""Checks of estimators that fail, and why they should."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_behaves_as_scikit_learn_asks() -> None:
    few_rows = FederatedSVC(sites=3, min_cluster=1, privacy="exact", random_state=0)
    found = check_estimator(few_rows, expected_failed_checks=NOT_AS_SCIKIT_LEARN)
    assert {check["check_name"] for check in found if check["status"] == "xfail"} == set(NOT_AS_SCIKIT_LEARN)
    assert sum(check["status"] == "passed" for check in found) > 50


@pytest.mark.slow
@pytest.mark.parametrize("level", ["exact", "auto"])
def test_it_is_nearly_as_accurate_as_an_svc(level: str) -> None:
    X, y = make_moons(600, noise=0.2, random_state=0)
    ours = FederatedSVC(C=10, gamma=2.0, privacy=level, random_state=0).fit(X[:400], y[:400])
    central = make_pipeline(StandardScaler(), SVC(C=10, gamma=2.0)).fit(X[:400], y[:400])
    assert ours.score(X[400:], y[400:]) > central.score(X[400:], y[400:]) - 0.03
    assert np.array_equal(ours.predict(X), ours.classes_[(ours.decision_function(X) > 0).astype(int)])
    assert ours.round_trips_ > 3


@pytest.mark.slow
def test_labels_of_any_kind_and_missing_cells() -> None:
    X, y = load_wine(return_X_y=True)
    X[::7, 2] = np.nan
    names = np.array(["Barolo, from the hills", "Grignolino", "O'Barbera"])[y]
    model = FederatedSVC(sites=3, random_state=0, probability=True).fit(X, names)
    assert model.score(X, names) > 0.9
    assert list(model.classes_) == sorted(set(names))
    assert model.predict_proba(X).shape == (178, 3)
    assert not hasattr(FederatedSVC(), "predict_proba")
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_rows_stay_with_the_sites_that_they_are_said_to_be_of() -> None:
    X, y = load_wine(return_X_y=True)
    whose = np.array(["north", "south", "../west"])[np.arange(len(y)) % 3]
    model = FederatedSVC(sites=5, random_state=0).fit(X, y, sites=whose)
    assert model.score(X, y) > 0.9
    with pytest.raises(PanSVMError, match="min-sites"):
        FederatedSVC().fit(X, y, sites=np.arange(len(y)) % 2)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_and_any_secure_sum() -> None:
    X, y = load_wine(return_X_y=True)
    models = [
        FederatedSVC(sites=3, random_state=seed, aggregation=aggregation).fit(X, y).model_.sha256()
        for seed, aggregation in ((0, "ring"), (0, "k-secure"), (1, "ring"))
    ]
    assert models[0] == models[1] != models[2]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"C": -1}, "C"),
        ({"aggregation": "rong"}, "ring"),
        ({"settings": {"lndmarks": 3}}, "landmarks"),
        ({"class_weight": {0: 0.0, 1: 1.0}}, "must be above 0"),
        ({"class_weight": {0: -1.0, 1: 1.0}}, "must be above 0"),
        ({"class_weight": {0: 1e-9, 1: 1.0}}, "1000 times"),
        *(({"settings": wrong}, "dict") for wrong in ([("tol", 1)], "tol=1", {1: 2})),
        ({"settings": {"split": "by:x0"}}, "as sites"),
    ],
)
def test_settings_that_cannot_be(values: dict[str, object], told: str) -> None:
    X, y = load_wine(return_X_y=True)
    with pytest.raises((ValueError, PanSVMError), match=told):
        FederatedSVC(**values).fit(X, y)


def decisions(model: FederatedSVC, X: np.ndarray, *given: object, **more: object) -> np.ndarray:
    return model.fit(X, *given, **more).decision_function(X)


@pytest.mark.slow
def test_weights_of_labels_are_those_of_svc() -> None:
    X, y = make_moons(200, noise=0.3, random_state=0)
    X, names = StandardScaler().fit_transform(X), np.array(["a", "b"])[y]
    for weights in ({"a": 1.0, "b": 3.7}, {"b": 0.2}):
        ours = decisions(FederatedSVC(kernel="linear", class_weight=weights, **EXACT), X, names)
        theirs = SVC(kernel="linear", class_weight=weights, tol=1e-6).fit(X, names).decision_function(X)
        assert np.abs(ours - theirs).max() < 0.05
    twice = decisions(FederatedSVC(C=2.0, **EXACT), X, names)
    assert np.allclose(decisions(FederatedSVC(class_weight={"a": 2, "b": 2}, **EXACT), X, names), twice)


@pytest.mark.slow
def test_weights_of_several_labels() -> None:
    X, y = load_wine(return_X_y=True)
    heavy = FederatedSVC(C=0.01, class_weight={0: 1, 1: 40}, **EXACT).fit(X, y)
    light = FederatedSVC(C=0.01, class_weight={0: 1, 1: 0.02}, **EXACT).fit(X, y)
    assert np.mean(heavy.predict(X) == 1) > np.mean(light.predict(X) == 1) + 0.1


@pytest.mark.parametrize(
    ("sites", "told"),
    [
        (["a", None, "b", "b"], "index 1"),
        ([1.0, 2.0, np.nan, 1.0], "index 2"),
        (pd.Series([1, 2, None, 1], dtype="Int64"), "index 2"),
        ([pd.NaT, pd.Timestamp(0), pd.Timestamp(1), pd.Timestamp(1)], "index 0"),
        (["a", "b"], "sites has 2 values"),
        (["a"] * 4, "All rows belong to one site"),
        *((wrong, "sites is not one value") for wrong in ("hospital", 3, [("a", 1)] * 4)),
    ],
)
def test_sites_that_cannot_be_get_a_clear_error(sites: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        FederatedSVC(min_cluster=1).fit(np.eye(4), [0, 1, 0, 1], sites=sites)


@pytest.mark.slow
def test_fits_in_threads_leave_the_process_as_it_was() -> None:
    X, y = make_moons(90, noise=0.3, random_state=0)
    log = logging.getLogger("flwr")
    before = log.level, list(log.handlers), list(warnings.filters), threadpool_info()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: FederatedSVC(**EXACT).fit(X, y).model_.sha256(), range(8)))
    assert len(set(found)) == 1
    assert (log.level, list(log.handlers), list(warnings.filters), threadpool_info()) == before


@pytest.mark.parametrize("C", [np.float64(2), np.float32(2), np.int64(2), np.array(2.0)])
def test_numbers_of_numpy_are_settings(C: object) -> None:
    assert make_settings(C=C, privacy=np.str_("exact"), sites=np.int64(3)) == make_settings(
        C=2.0, privacy="exact", sites=3
    )


def test_several_numbers_may_be_a_list_or_an_array() -> None:
    for several in ([1.0, 10.0], np.array([1.0, 10.0])):
        assert make_settings(C=several) == make_settings(C=(1.0, 10.0))


def test_level_dp_is_refused_without_advice_that_cannot_be_followed() -> None:
    with pytest.raises(SettingError) as refused:
        FederatedSVC(privacy="dp").fit(*make_moons(40, random_state=0))
    assert "private-svm" not in str(refused.value)


def test_labels_that_are_missing_are_refused() -> None:
    X = np.arange(40.0).reshape(20, 2)
    with pytest.raises(ValueError, match="y is None or NaN in 1 row"):
        FederatedSVC().fit(X, [None, *["a", "b"] * 9, "a"])


@pytest.mark.parametrize(
    "twice",
    [
        *({"privacy": "exact"}, {"seed": 1}, {"test_fraction": 0.5}, {"test-fraction": 0.5}),
        *({"min-cluster": 1}, {"class-weight": "balanced"}, {"random-state": 1}, {"schema": "s.toml"}),
        *({"positive": "1"}, {"drop": "x0"}, {"label": "x0"}, {"out": "/tmp/out"}),
    ],
    ids=str,
)
def test_settings_may_not_overrule_parameters(twice: dict[str, object]) -> None:
    X, y = make_moons(40, random_state=0)
    with pytest.raises(PanSVMError, match="parameter"):
        FederatedSVC(settings=twice).fit(X, y)


def test_settings_have_either_name() -> None:
    X, y = make_moons(60, random_state=0)
    by_name = [
        decisions(FederatedSVC(**{**EXACT, "settings": {name: 2}}), X, y)
        for name in ("min-sites", "min_sites")
    ]
    assert np.array_equal(*by_name)


def test_weights_of_classes_are_not_overruled() -> None:
    X, y = make_moons(60, random_state=0)
    y = np.append(y[:-10], [2] * 10)
    with pytest.raises(PanSVMError, match="multi-class"):
        FederatedSVC(class_weight={0: 2}, settings={"multi-class": "ovr"}).fit(X, y)


def test_columns_of_x_are_called_by_their_names() -> None:
    X, y = make_moons(90, noise=0.1, random_state=0)
    frame = pd.DataFrame(X, columns=["age", "dose"]).assign(site=1.0)
    model = FederatedSVC(sites=3, landmarks=10, random_state=0)
    with pytest.warns(UserWarning, match="columns site of X"):
        model.fit(frame, y)
    with pytest.warns(UserWarning, match="columns 2 of X"):
        model.fit(frame.to_numpy(), y)
    with pytest.raises(ValueError, match="in columns dose"):
        model.fit(frame.assign(dose=1e13), y)


def small() -> tuple[FederatedSVC, np.ndarray, np.ndarray]:
    X, y = make_moons(60, noise=0.2, random_state=0)
    return FederatedSVC(**EXACT, min_cluster=2, landmarks=8).set_params(settings={"tol": 0.1}), X, y


def test_a_fit_that_fails_leaves_the_earlier_model_with_its_labels() -> None:
    model, X, y = small()
    before = model.fit(X, np.array(["a", "b"])[y]).predict(X)
    with pytest.raises(SettingError):
        model.set_params(C=-1).fit(X, np.array(["c", "d"])[y])
    assert np.array_equal(model.predict(X), before)


def test_numbers_too_large_are_refused_by_predict_as_by_fit() -> None:
    model, X, y = small()
    model.fit(X, y)
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="in columns 1"):
            method(np.array([[0.0, 1e200]]))


def test_a_model_without_probabilities_has_no_method_for_them() -> None:
    model, X, y = small()
    model.fit(X, y).set_params(probability=True)
    assert not hasattr(model, "predict_proba")
    assert hasattr(model.fit(X, y), "predict_proba")
