"""Class weights, and several classes told apart one versus all or one versus one: as central solvers do it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC

from flower_pansvm.errors import SettingError, TrainingError
from flower_pansvm.multiclass import REST, Pair, signs
from flower_pansvm.systems.pan_svm.cuts import Problem
from flower_pansvm.terms import NOISES, replaced_share
from simulations.data.sites import join_data
from simulations.engines.in_process import train_in_process
from strategies.settings import make_settings
from strategies.steps.binary_problems import with_rows
from tests.strategies.conftest import check_against_svc

Pool = Callable[..., Any]
Matrix = NDArray[np.float64]


# Class weights


@pytest.mark.parametrize(
    "config",
    [
        {},
        pytest.param({"data": "wine"}, marks=pytest.mark.slow),
        pytest.param({"data": "wine", "multi_class": "ovo"}, marks=pytest.mark.slow),
    ],
    ids=["two classes", "one versus all", "one versus one"],
)
def test_balanced_classes_weigh_as_in_scikit_learn(config: dict[str, str], pool: Pool) -> None:
    strategy = train_in_process(
        make_settings(class_weight="balanced", C=2.0, landmarks="40", privacy="exact", tol=1e-3, **config)
    )  # type: ignore[arg-type]
    rows = pool(strategy.settings, strategy.model.schema_)
    F = rows.mapped(strategy.model)
    for state in strategy.training.progress:
        y = signs(rows.classes, state.problem.pair)
        F_in, y_in = F[y != 0], y[y != 0]
        expected = SVC(kernel="linear", class_weight="balanced").fit(F_in, y_in).class_weight_
        assert state.problem.weights == pytest.approx((expected[1], expected[0]))
        check_against_svc(state, F_in, y_in, np.where(y_in > 0, expected[1], expected[0]))


# Several classes


def test_one_versus_one_predicts_as_scikit_learn_does(pool: Pool) -> None:
    settings = make_settings(
        data="wine", sites=3, multi_class="ovo", C=4.0, landmarks="40", privacy="exact", tol=1e-3
    )
    strategy = train_in_process(settings)
    model = strategy.model
    rows, new = pool(settings, model.schema_), pool(settings, model.schema_, test=True)
    F, F_new = rows.mapped(model), new.mapped(model)
    for state in strategy.training.progress:
        y = signs(rows.classes, state.problem.pair)
        check_against_svc(state, F[y != 0], y[y != 0], np.ones(np.count_nonzero(y)))
    said = model.predict(pd.DataFrame(new.X, columns=model.feature_names_in_))
    for central in (OneVsOneClassifier(SVC(kernel="linear", C=4.0)), SVC(kernel="linear", C=4.0)):
        expected = model.classes_[central.fit(F, rows.classes).predict(F_new)]
        assert np.mean(said == expected) >= 0.97


IRIS, BLOBS = load_iris(return_X_y=True), make_blobs(260, centers=8, cluster_std=0.5, random_state=0)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize(
    ("rows", "shares"),
    [
        # The last class is at the last site only.
        (IRIS, [np.flatnonzero(IRIS[1] < 2)[part::2] for part in (0, 1)] + [np.flatnonzero(IRIS[1] != 1)]),
        # The last site has 4 rows of 8 classes, too few for a landmark too.
        (BLOBS, np.split(np.arange(260), [128, 256])),
    ],
    ids=["a class at one site only", "fewer rows than classes"],
)
@pytest.mark.slow
def test_classes_are_learned_however_few_a_site_has(
    rows: tuple[Any, Any], shares: list[Any], multi_class: str, write_table: Callable[..., str]
) -> None:
    X, y = rows
    files = [write_table(X[own], y[own], f"site{number}") for number, own in enumerate(shares)]
    strategy = train_in_process(
        make_settings(data=join_data(files), sites=3, multi_class=multi_class, tol=0.1, privacy="exact")
    )
    assert len(strategy.model.classes_) == len(np.unique(y))
    assert (strategy.evaluation.accuracy or 0) >= 0.9


# What cannot be trained


def test_features_that_are_all_constant_leave_a_linear_kernel_nothing(
    write_table: Callable[..., str],
) -> None:
    data = write_table(np.ones((60, 3)), np.arange(60) % 2)
    with pytest.raises(TrainingError, match="kernel=rbf"):
        train_in_process(make_settings(data=data, sites=3, kernel="linear"))


def test_features_that_are_all_constant_leave_an_rbf_kernel_the_larger_class(
    write_table: Callable[..., str],
) -> None:
    model = train_in_process(
        make_settings(data=write_table(np.ones((60, 3)), np.arange(60) % 3 // 2), sites=3)
    ).model
    assert model.feature_map_.rank == 1
    assert set(model.predict(pd.DataFrame(np.ones((5, 3)), columns=model.feature_names_in_))) == {0}


# Weights of one's own


@pytest.mark.parametrize(
    ("pair", "given", "told"),
    [
        (Pair(1, REST), (1.0, 5.0), (1.0, (5.0, 1.0))),
        (Pair(1, REST), (0.5, 0.25), (0.25, (1.0, 2.0))),
        (Pair(2, REST), (3.0, 3.0, 1.0), (1.0, (1.0, 3.0))),
        (Pair(2, 0), (3.0, 9.0, 1.0), (1.0, (1.0, 3.0))),
        (Pair(2, REST), (3.0, 9.0, 1.0), "multi-class=ovo"),
        (Pair(1, REST), (1.0, 5.0, 2.0, 1.0), "different weights"),
        (Pair(1, REST), (1.0, 1001.0), "1000 times"),
    ],
)
def test_class_weights_are_told_so_that_the_smallest_is_one(
    pair: Pair, given: tuple[float, ...], told: tuple[float, tuple[float, float]] | str
) -> None:
    settings = make_settings(class_weight=given)
    problem, rows = Problem("class b", 1, 0.0, 2.0, pair), np.full((1, len(given)), 10.0)
    if isinstance(told, str):
        with pytest.raises(SettingError, match=told):
            with_rows(problem, settings, rows)  # type: ignore[arg-type]
        return
    found = with_rows(problem, settings, rows)  # type: ignore[arg-type]
    assert (found.C, found.weights) == (2.0 * told[0], told[1])
    with pytest.raises(SettingError):
        with_rows(problem, settings, np.ones((1, len(given) + 1)))  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", NOISES)
def test_weights_make_up_for_labels_that_are_drawn_anew(noise: float) -> None:
    """Where a record is as likely of either class, the two labels that its copy may have weigh as much together."""
    rows, r = np.array([[90.0, 10.0], [20.0, 30.0]]), replaced_share(noise)
    settings, before = (
        make_settings(privacy="perturbed", noise=noise),
        Problem("", 1, 0.0, 2.0, Pair(1, REST)),
    )
    problem = with_rows(replace(before, fold=1), settings, rows)  # type: ignore[arg-type]
    positive, negative = problem.weights
    assert positive * ((1 - r) / 2 + r * 0.1) == pytest.approx(negative * ((1 - r) / 2 + r * 0.9))
    assert positive > negative == 1
    assert problem.C * (positive + negative) == pytest.approx(4.0)
    assert problem.rows == pytest.approx(10 * positive + 90)
    # Not at another level, of equal classes, of several, or where the user has chosen.
    for other, told in (
        (make_settings(privacy="exact"), rows),
        (settings, rows[:1, [1, 1]]),
        (settings, rows[:1, [0, 0, 1]]),
        (make_settings(privacy="perturbed", class_weight=(1.0, 1.0)), rows),
    ):
        plain = with_rows(before, other, told)  # type: ignore[arg-type]
        assert (plain.C, plain.weights) == (2.0, (1.0, 1.0))


@pytest.mark.slow
def test_a_rare_class_is_named_at_level_perturbed_as_often_as_the_true_labels_say(tmp_path: Path) -> None:
    """Of labels one in eleven is positive; at noise 0.5 a model without weights names a third of them."""
    X, y = make_classification(
        8000, 10, n_informative=6, n_redundant=0, weights=[10 / 11], flip_y=0, random_state=0
    )
    pd.DataFrame(X).add_prefix("x").assign(label=y).to_csv(tmp_path / "rare.csv", index=False)
    at = {"data": str(tmp_path / "rare.csv"), "landmarks": "100", "test_fraction": 0.5, "noise": 0.5}
    own, equal, balanced = (
        train_in_process(make_settings(**at, privacy="perturbed", class_weight=weights)).outcome.evaluation
        for weights in ("none", (1.0, 1.0), "balanced")
    )
    assert own.accuracy > equal.accuracy + 0.005
    assert own.accuracy > balanced.accuracy
    assert min(own.auc, equal.auc, balanced.auc) > 0.9


@pytest.mark.parametrize("strategy", ["ssvd", "local-only", "svm-ensemble"])
def test_weights_of_each_class_need_a_strategy_that_knows_them(strategy: str) -> None:
    with pytest.raises(SettingError, match=f"{strategy} accepts only none and balanced"):
        make_settings(strategy=strategy, class_weight="1,5")


@pytest.mark.slow
def test_a_very_large_C_ends_at_a_usable_model_and_says_what_is_missing(
    shared_data: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings = make_settings(
        data="diabetes", data_dir=str(shared_data), C=1e6, landmarks="40", privacy="exact", tol=1e-3
    )
    with caplog.at_level("WARNING", logger="flwr"):
        strategy = train_in_process(settings)
    (state,) = strategy.training.progress
    assert state.gap <= settings.tol or "stops at" in caplog.text
    assert state.lower <= state.upper
    assert (strategy.evaluation.accuracy or 0) >= 0.65
