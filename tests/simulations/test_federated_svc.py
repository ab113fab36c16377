"""The federation as an estimator of scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from flower_pansvm.errors import PanSVMError
from simulations.federated_svc import FederatedSVC

NOT_AS_SCIKIT_LEARN = {
    "check_class_weight_classifiers": "A class weighs 1 or as 'balanced' says: with weights of one's own choice a "
    "coordinator could ask about few rows, so that hospitals refuse them.",
}
"""Checks of estimators that fail, and why they should."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_behaves_as_scikit_learn_asks() -> None:
    few_rows = FederatedSVC(sites=3, min_cluster=1, preset="exact", random_state=0)
    found = check_estimator(few_rows, expected_failed_checks=NOT_AS_SCIKIT_LEARN)
    assert {check["check_name"] for check in found if check["status"] == "xfail"} == set(NOT_AS_SCIKIT_LEARN)
    assert sum(check["status"] == "passed" for check in found) > 50


@pytest.mark.slow
def test_it_is_nearly_as_accurate_as_an_svc() -> None:
    X, y = make_moons(600, noise=0.2, random_state=0)
    ours = FederatedSVC(C=10, gamma=2.0, random_state=0).fit(X[:400], y[:400])
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
    with pytest.raises(ValueError, match="sites says of 3 rows"):
        FederatedSVC().fit(X, y, sites=["north", "south", "west"])
    with pytest.raises(ValueError, match="All rows are one site's"):
        FederatedSVC().fit(X, y, sites=np.zeros(len(y)))
    with pytest.raises(PanSVMError, match="min-sites"):
        FederatedSVC().fit(X, y, sites=np.arange(len(y)) % 2)


@pytest.mark.slow
def test_pipelines_searches_and_clones() -> None:
    X, y = load_wine(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), FederatedSVC(sites=3, random_state=0)),
        {"federatedsvc__C": [1e-5, 1.0]},
        cv=2,
    )
    assert search.fit(X, y).best_params_ == {"federatedsvc__C": 1.0}
    assert clone(FederatedSVC(C=3.0, settings={"min_sites": 2})).get_params()["settings"] == {"min_sites": 2}


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
    [({"C": -1}, "C"), ({"aggregation": "rong"}, "ring"), ({"settings": {"lndmarks": 3}}, "landmarks")],
)
def test_settings_that_cannot_be(values: dict[str, object], told: str) -> None:
    X, y = load_wine(return_X_y=True)
    with pytest.raises(PanSVMError, match=told):
        FederatedSVC(**values).fit(X, y)  # type: ignore[arg-type]
