"""Feature selection on 5 sites removes the same features, for the same reasons, as a central one on pooled rows."""

import runpy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.svm import SVC

from flower_pansvm.systems.scaling import NO_FOLD
from simulations.engines.in_process import train_in_process
from strategies.selection.elimination import Elimination
from strategies.selection.thresholds import FILTERS
from strategies.settings import make_settings

# Test folders are no packages, so a module beside a test cannot be imported.
reference = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("selection_reference.py"))))

SINGLE = ("svm-rfe", "rsvm", "svm-t")


@pytest.fixture
def select(pool: Callable[..., Any]) -> Callable[..., tuple[Elimination, Any]]:
    """Return a function that selects on 5 sites, and gives the same to the reference."""

    def selected(strategy: str, data: str, kept: int, **config: Any) -> tuple[Elimination, Any]:
        # No site leaves out a side with few support vectors.
        settings = make_settings(
            strategy=strategy,
            data=data,
            sites=5,
            step="1",
            min_cluster=1,
            privacy="exact",
            tol=1e-9,
            **(
                {"filters": ",".join(f"{name}={kept}" for name in FILTERS)}
                if strategy == "filter-wrapper"
                else {}
            ),
            **{"landmarks": "40", "gamma": "0.05", **config},
        )
        trained = train_in_process(settings)
        assert isinstance(trained, Elimination)
        subsets = trained.subsets
        rows = pool(settings, subsets.schema)
        order = [NO_FOLD, *range(reference.FOLDS)]
        scalings = [subsets.scaled_sets[fold].scaling for fold in order]
        return trained, reference.Pooled(
            X=rows.X,
            y=np.where(rows.classes == subsets.pairs[0].positive, 1.0, -1.0),
            folds=rows.folds,
            landmarks=[subsets.landmarks[fold] for fold in order],
            scalings=[(scaling.shift, scaling.scale, scaling.fill) for scaling in scalings],
            C=settings.C,
            gamma=settings.gamma,
        )

    return selected


def central(strategy: str, pooled: Any, kept: int) -> Any:
    if strategy == "filter-wrapper":
        return reference.filter_wrapper(pooled, kept)
    return reference.voted_wrapper(pooled, (strategy,) if strategy in SINGLE else SINGLE)


def check_same(trained: Elimination, outcome: Any, pooled: Any) -> None:
    """Compare step by step first: of two different rankings, the first difference says why."""
    selection, columns = trained.selection, trained.subsets.schema.columns
    names = {str(number): column for number, column in enumerate(columns)}
    accuracy_of = {point.features: point.accuracy for point in selection.points}
    assert len(selection.steps) == len(outcome.steps)
    for step, expected in zip(selection.steps, outcome.steps, strict=True):
        assert step.features == len(expected.features)
        accuracy = float(reference.accuracy(pooled, expected.features))
        assert accuracy_of[step.features] == pytest.approx(accuracy)
        candidates = {names.get(name, name): (feature,) for name, feature in expected.candidates.items()}
        assert step.candidates == candidates
        accuracies = {names.get(name, name): float(value) for name, value in expected.accuracies.items()}
        assert step.accuracies == pytest.approx(accuracies)
        assert step.removed == (expected.removed,)
    assert selection.ranking == outcome.ranking


# On real data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "strategy"),
    [("diabetes", "voted-wrapper"), ("diabetes", "filter-wrapper"), ("ionosphere", "filter-wrapper")],
)
def test_five_sites_remove_the_same_features_as_a_central_selection(
    data: str, strategy: str, select: Callable[..., Any], shared_data: Path
) -> None:
    trained, pooled = select(strategy, data, kept=8, data_dir=str(shared_data))
    check_same(trained, central(strategy, pooled, kept=8), pooled)


# On little data


@pytest.mark.parametrize(
    "strategy",
    ["voted-wrapper", "filter-wrapper", *SINGLE],
)
@pytest.mark.slow
def test_five_sites_remove_the_same_features_of_a_small_table(
    strategy: str, select: Callable[..., Any], write_table: Callable[..., str]
) -> None:
    if strategy == "voted-wrapper":
        # The three criteria once name three features.
        X, y = make_classification(150, 8, n_informative=3, n_redundant=0, flip_y=0.2, random_state=4)
    else:
        X, y = load_breast_cancer(return_X_y=True)
        X, y = X[:150, 20:26], y[:150]
    # The last column twice: even so, the order is the same.
    data = write_table(np.column_stack([X, X[:, -1]]), y)
    trained, pooled = select(strategy, data, kept=4, landmarks="20", gamma="0.2")
    outcome = central(strategy, pooled, kept=4)
    check_same(trained, outcome, pooled)
    if strategy == "voted-wrapper":
        assert any(step.accuracies for step in trained.selection.steps)
        figures = trained.figures()
        by_accuracy = [step for step in outcome.steps if step.accuracies]
        equal = [
            step
            for step in by_accuracy
            if sorted(step.accuracies.values())[-1] == sorted(step.accuracies.values())[-2]
        ]
        assert (figures["steps_by_accuracy"], figures["steps_tied"]) == (len(by_accuracy), len(equal))


# The reference itself


def test_the_references_svm_is_that_of_libsvm() -> None:
    X, y = make_classification(150, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=0)
    signs = 2.0 * y - 1.0
    # With every row a landmark, the feature map reproduces the kernel.
    svm = reference.train(X, signs, X, C=4.0, gamma=0.2)
    libsvm = SVC(C=4.0, gamma=0.2, tol=1e-8).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[libsvm.support_] = np.abs(libsvm.dual_coef_[0])
    np.testing.assert_allclose(svm.decide(X), libsvm.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(svm.alpha, alpha, atol=1e-3)
