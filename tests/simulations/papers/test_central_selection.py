"""Selections with LIBSVM on pooled rows, which the paper's tables have beside the federated ones."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from simulations.data.pooling import pooled
from simulations.engines.in_process import train_in_process
from simulations.papers.central_selection import select
from strategies.selection.elimination import Elimination
from strategies.settings import Settings, make_settings

INFORMATIVE = {0, 1, 2}


@pytest.fixture
def generated(tmp_path: Path) -> Path:
    """Three features that matter and five of noise, 120 rows."""
    X, y = make_classification(
        120, 8, n_informative=3, n_redundant=0, class_sep=1.5, shuffle=False, random_state=1
    )
    file = tmp_path / "generated.csv"
    pd.DataFrame(X, columns=[f"f{j}" for j in range(8)]).assign(label=y).to_csv(file, index=False)
    return file


@pytest.fixture
def settings_of(generated: Path) -> Callable[..., Settings]:
    """Return a function that makes the settings of a strategy on the generated rows."""

    def make(strategy: str = "voted-wrapper", **more: object) -> Settings:
        return make_settings(data=str(generated), sites=3, strategy=strategy, min_cluster=1, **more)

    return make


@pytest.mark.parametrize("strategy", ["voted-wrapper", "svm-rfe", "rsvm", "svm-t", "filter-wrapper"])
def test_features_that_matter_are_ranked_first(settings_of: Callable[..., Settings], strategy: str) -> None:
    found = select(settings_of(strategy))
    assert sorted(found.ranking) == list(range(8))
    assert len(INFORMATIVE & set(found.ranking[:3])) >= 2
    assert found.selected == found.ranking[: len(found.selected)]
    assert found.points[0].features == 8
    assert found.points[-1].features == 1
    assert all(point.test_accuracy is not None for point in found.points)


def test_first_feature_to_go_is_that_of_smallest_weight() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    svc = SVC(C=2.0).fit(X, y)
    weights = svc.dual_coef_[0] @ svc.support_vectors_
    found = select(make_settings(strategy="svm-rfe", C=2.0, test_fraction=0.0, step="0.5"))
    assert set(found.steps[0].removed) == set(np.argsort(np.square(weights))[:15])
    assert found.points[0].test_accuracy is None


@pytest.mark.parametrize("strategy", ["voted-wrapper", "filter-wrapper"])
def test_test_rows_have_no_part_in_the_selection(
    settings_of: Callable[..., Settings], generated: Path, strategy: str
) -> None:
    settings = settings_of(strategy)
    before = select(settings)
    frame = pd.read_csv(generated)
    test = pooled(settings).test
    left_out = frame.drop(columns="label").apply(tuple, axis=1).isin(list(map(tuple, test.X)))
    assert left_out.sum() == len(test.X) == 24
    frame.loc[left_out, [f"f{j}" for j in range(8)]] = 50.0
    frame.to_csv(generated, index=False)
    after = select(settings)
    assert after.ranking == before.ranking
    assert after.selected == before.selected
    assert after.screening == before.screening
    assert [(one.accuracy, one.deviation) for one in after.points] == [
        (one.accuracy, one.deviation) for one in before.points
    ]
    assert [one.test_accuracy for one in after.points] != [one.test_accuracy for one in before.points]


def test_several_classes_and_missing_cells(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    classes = np.repeat(["a", "b", "c"], 30)
    X = generator.normal(size=(90, 4))
    X[:, 2] += 4 * (classes == "a") - 4 * (classes == "c")
    X[generator.random(X.shape) < 0.05] = np.nan
    pd.DataFrame(X, columns=list("wxyz")).assign(label=classes).to_csv(tmp_path / "three.csv", index=False)
    for scaling in ("standard", "minmax"):
        found = select(
            make_settings(data=str(tmp_path / "three.csv"), strategy="voted-wrapper", scaling=scaling)
        )
        assert found.ranking[0] == 2
        assert found.points[-1].accuracy > 0.85


@pytest.mark.slow
def test_federated_run_with_a_landmark_for_each_row_selects_the_same(
    settings_of: Callable[..., Settings],
) -> None:
    # Then the Nyström kernel is exact but for a cluster of two rows, and PAN-SVM is LIBSVM.
    settings = settings_of(
        "svm-rfe", privacy="exact", test_fraction=0.5, landmarks="0.999", tol=1e-3, step="0.5"
    )
    central, strategy = select(settings), train_in_process(settings)
    assert isinstance(strategy, Elimination)
    federated = strategy.selection
    assert federated.ranking == central.ranking
    for one, other in zip(federated.points, central.points, strict=True):
        assert one.accuracy == pytest.approx(other.accuracy, abs=0.025)
        assert one.test_accuracy == pytest.approx(other.test_accuracy, abs=0.05)
