"""Probabilities: those of scikit-learn's calibration on the same mapped rows and folds, for at most one trip more."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC

from flower_pansvm.systems.scaling import NO_FOLD
from simulations.engines.in_process import train_in_process
from strategies.settings import make_settings

Pool = Callable[..., Any]

CENTRAL = {
    "two classes": SVC(kernel="linear"),
    "ovr": OneVsRestClassifier(SVC(kernel="linear")),
    "ovo": OneVsOneClassifier(SVC(kernel="linear")),
}


@pytest.mark.parametrize(
    ("central", "config"),
    [
        ("two classes", {}),
        pytest.param("two classes", {"class_weight": "balanced", "cv_folds": 3}, marks=pytest.mark.slow),
        pytest.param("ovr", {"data": "wine"}, marks=pytest.mark.slow),
        pytest.param("ovo", {"data": "wine", "multi_class": "ovo"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_probabilities_are_those_of_scikit_learns_calibration(
    central: str, config: dict[str, Any], pool: Pool
) -> None:
    settings = make_settings(probability=True, landmarks="40", privacy="exact", tol=1e-3, **config)
    model = train_in_process(settings).model
    rows, new = pool(settings, model.schema_), pool(settings, model.schema_, test=True)
    solver = CENTRAL[central]
    if settings.class_weight == "balanced":
        solver = SVC(kernel="linear", class_weight="balanced")
    reference = CalibratedClassifierCV(
        solver, method="sigmoid", ensemble=False, cv=PredefinedSplit(rows.folds)
    )
    reference.fit(rows.mapped(model), rows.classes)
    expected = reference.predict_proba(new.mapped(model))
    ours = model.predict_proba(pd.DataFrame(new.X, columns=model.feature_names_in_))
    near = np.abs(ours - expected).max(axis=1) <= 0.03
    # One versus one, a row whose decision is near 0 may vote for the other class.
    assert np.mean(near) >= (0.95 if central == "ovo" else 1.0)
    assert ours.sum(axis=1) == pytest.approx(np.ones(len(ours)))
    assert log_loss(new.classes, ours) < 0.3


@pytest.mark.parametrize("level", ["exact", "perturbed"])
def test_of_several_classes_the_most_probable_one_is_predicted_and_tested(
    level: str, tmp_path: Path, pool: Pool
) -> None:
    draw = np.random.default_rng(2)
    classes = draw.choice(3, 600, p=[0.6, 0.3, 0.1])
    table = pd.DataFrame(classes[:, None] + draw.normal(0, 0.7, (600, 2)), columns=["a", "b"])
    table.assign(label=[f"c{one}" for one in classes]).to_csv(tmp_path / "table.csv", index=False)
    settings = make_settings(data=str(tmp_path / "table.csv"), probability=True, privacy=level, sites=3)
    run = train_in_process(settings)
    new = pool(settings, run.model.schema_, test=True)
    rows = pd.DataFrame(new.X, columns=run.model.feature_names_in_)
    predicted, probabilities = run.model.predict(rows), run.model.predict_proba(rows)
    assert np.array_equal(predicted, run.model.classes_[probabilities.argmax(axis=1)])
    said = np.searchsorted(run.model.classes_, predicted)
    assert run.evaluation.accuracy == pytest.approx(np.mean(said == new.classes))


@pytest.mark.parametrize("config", [{}, {"data": "wine"}], ids=str)
@pytest.mark.slow
def test_they_cost_at_most_one_round_trip(config: dict[str, Any]) -> None:
    trips = {}
    for probability in (False, True):
        strategy = train_in_process(
            make_settings(probability=probability, landmarks="40", cv_folds=2, **config)
        )
        rounds = max(state.rounds for state in strategy.training.progress if state.problem.fold == NO_FOLD)
        trips[probability] = strategy.federation.costs.round_trips - rounds
    assert trips[False] == 5
    assert trips[True] == 5 + bool(config)  # the sigmoids of several classes are part of what is tested


def test_without_the_setting_a_model_has_no_probabilities() -> None:
    assert not hasattr(train_in_process(make_settings(landmarks="20")).model, "predict_proba")


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.25, 0.5])
def test_those_of_copies_hold_for_true_records(noise: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    ill = rng.random(6000) < expit(2 * X[:, 0] + X[:, 1] * X[:, 2] - 0.5)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(ill=ill.astype(int))
    table[:2000].to_csv(tmp_path / "table.csv", index=False)
    asked = {"data": str(tmp_path / "table.csv"), "label": "ill", "privacy": "perturbed", "noise": noise}
    model = train_in_process(make_settings(probability=True, **asked)).model
    decisions = logit(model.predict_proba(table[2000:][["a", "b", "c"]])[:, 1])
    slope = LogisticRegression(C=np.inf).fit(decisions[:, None], ill[2000:]).coef_[0, 0]
    # Of twelve tables at noise 0.5: 0.86 with a deviation of 0.09.
    assert 0.6 < slope < 1.35


def test_those_of_copies_of_several_classes_add_up() -> None:
    model = train_in_process(make_settings(data="wine", probability=True, privacy="perturbed")).model
    probabilities = model.predict_proba(pd.DataFrame(np.eye(13), columns=model.feature_names_in_))
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(13))
