"""PAN-SVM end to end, all sites in this process: the model is the right one."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from clients.hospital import hospital_of
from clients.site import Site
from flower_pansvm.models.pan_svc import PanSVC
from simulations.data.pooling import pooled
from simulations.data.sites import join_data, table_of
from simulations.engines.in_process import InProcessGrid, train_in_process
from strategies.pan_svm.strategy import PanSVM
from strategies.results import describe, write
from strategies.settings import make_settings
from tests.strategies.conftest import check_against_svc


@pytest.fixture(scope="module")
def trained() -> PanSVM:
    return train_in_process(make_settings())


@pytest.mark.parametrize(
    ("data", "config"),
    [
        ("breast_cancer", {}),
        pytest.param(
            "breast_cancer", {"sites": 8, "min_cluster": 1, "scaling": "none"}, marks=pytest.mark.slow
        ),
        pytest.param("diabetes", {"C": 10.0}, marks=pytest.mark.slow),
    ],
)
def test_the_solution_is_that_of_a_central_solver(
    data: str, config: dict[str, Any], pool: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    folder = "" if data == "breast_cancer" else str(request.getfixturevalue("shared_data"))
    settings = make_settings(data=data, data_dir=folder, privacy="exact", tol=1e-3, **config)
    strategy = train_in_process(settings)
    (state,), model = strategy.training.progress, strategy.model
    assert state.gap <= 1e-3
    rows = pool(settings, model.schema_)
    F, y = rows.mapped(model), np.where(rows.classes == 1, 1.0, -1.0)
    check_against_svc(state, F, y, np.ones(len(y)))
    w, b = model.coef_[0], model.intercept_[0]
    reached = 0.5 * w @ w + settings.C * np.maximum(0, 1 - y * (F @ w + b)).sum()
    assert reached == pytest.approx(state.upper, rel=1e-9)


@pytest.mark.parametrize(
    ("data", "config"),
    [
        ("breast_cancer", {}),
        # Decision values that are close together.
        pytest.param("breast_cancer", {"C": 1e-4}, marks=pytest.mark.slow),
        pytest.param("diabetes", {"C": 1e-4}, marks=pytest.mark.slow),
        pytest.param("diabetes", {"C": 1e3, "tol": 0.05}, marks=pytest.mark.slow),
        pytest.param("breast_cancer", {"kernel": "linear"}, marks=pytest.mark.slow),
    ],
)
def test_reported_figures_are_those_of_the_model_on_the_held_out_rows(
    data: str, config: dict[str, Any], pool: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    folder = "" if data == "breast_cancer" else str(request.getfixturevalue("shared_data"))
    strategy = train_in_process(make_settings(data=data, data_dir=folder, privacy="exact", **config))
    model, figures = strategy.model, strategy.evaluation
    rows = pool(strategy.settings, model.schema_, test=True)
    X = pd.DataFrame(rows.X, columns=model.feature_names_in_)
    said = (model.predict(X) == model.classes_[1]).astype(int)
    assert figures.rows == len(X)
    assert figures.accuracy == pytest.approx(np.mean(said == rows.classes))
    assert figures.balanced_accuracy == pytest.approx(balanced_accuracy_score(rows.classes, said))
    within = 4e-3 if config else 2e-3
    assert figures.auc == pytest.approx(roc_auc_score(rows.classes, model.decision_function(X)), abs=within)


def test_a_simulated_site_trains_on_the_copy_and_is_tested_on_true_records(trained: PanSVM) -> None:
    grid, right = trained.federation.grid, 0
    assert isinstance(grid, InProcessGrid)
    for number, context in enumerate(grid._contexts.values()):
        site = Site.of(hospital_of(context), "perturbed")
        true = {row.tobytes() for row in table_of(trained.settings, number).X}
        assert not any(row.tobytes() in true for row in site.train().X)
        assert all(row.tobytes() in true for row in site.test().X)
        said = trained.model.predict(pd.DataFrame(site.test().X, columns=trained.model.feature_names_in_))
        right += np.count_nonzero(said == trained.model.classes_[site.test().classes])
    assert trained.evaluation.accuracy == pytest.approx(right / trained.evaluation.rows)


def test_plain_and_ring_give_the_same_model_and_plain_says_that_it_protects_nothing(
    trained: PanSVM, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="flwr"):
        plain = train_in_process(make_settings(aggregation="plain"))
    assert "NOTHING IS PROTECTED" in caplog.text
    assert {entry["how"] for entry in plain.federation.costs.disclosed()} == {"disclosed"}
    assert plain.model.sha256() == trained.model.sha256()
    assert plain.federation.costs.round_trips == trained.federation.costs.round_trips


def test_minmax_discloses_the_extremes_and_says_so(pool: Callable[..., Any]) -> None:
    strategy = train_in_process(make_settings(scaling="minmax", privacy="exact"))
    how = {entry["result"]: entry["how"] for entry in strategy.federation.costs.disclosed()}
    assert how["low"] == how["high"] == "disclosed"
    scaled = strategy.model.scaling_.transform(pool(strategy.settings, strategy.model.schema_).X)
    assert scaled.min() == pytest.approx(-1.0)
    assert scaled.max() == pytest.approx(1.0)


def test_the_result_says_what_happened(trained: PanSVM, tmp_path: Path) -> None:
    write(tmp_path, trained, trained.settings)
    result = json.loads((tmp_path / "result.json").read_text())
    again = json.loads(json.dumps(describe(trained, trained.settings)))
    assert {**result, "finished": ""} == {**again, "finished": ""}
    assert (result["level"], result["noise"], result["tested_on"]) == ("perturbed", 0.25, "true records")
    assert (result["sites"], result["features"], result["rows_train"] + result["rows_test"]) == (5, 30, 569)
    (state,) = trained.training.progress
    assert result["converged"]
    assert result["objective"]["gap"] == state.gap <= trained.settings.tol
    assert result["cut_rounds"] == len(result["convergence"][0])
    assert result["round_trips"] == result["cut_rounds"] + 5
    assert PanSVC.load(tmp_path / "model.npz").sha256() == result["model_sha256"]


@pytest.mark.slow
def test_four_real_hospitals_together_beat_the_mean_of_each_alone(shared_data: Path) -> None:
    names = ("cleveland", "hungarian", "switzerland", "va")
    data = join_data([str(shared_data / f"heart-{name}.csv.gz") for name in names])
    together, alone = [], []
    for seed in range(5):
        settings = make_settings(data=data, sites=4, positive="1,2,3,4", seed=seed, privacy="exact")
        together.append(train_in_process(settings).evaluation.balanced_accuracy)
        rows = pooled(settings)
        for site in range(4):
            own = rows.train.of(rows.train.sites == site)
            local = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), SVC())
            said = local.fit(own.X, own.classes).predict(rows.test.X)
            alone.append(balanced_accuracy_score(rows.test.classes, said))
    assert np.mean(together) > np.mean(alone)
