"""Each hospital alone: the same counts as scikit-learn's SVC at each site, and nothing else leaves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, f1_score

from flower_pansvm.errors import PanSVMError
from flower_pansvm.schema import Schema
from simulations.attack.audit import audit
from simulations.engines.running import in_process_grid
from strategies.app import run
from strategies.local_only import LocalOnly
from strategies.settings import Settings, make_settings
from tests.strategies.conftest import svc_of

Numbers = NDArray[np.float64]


def settings_of(**values: Any) -> Settings:
    return make_settings(**{"strategy": "local-only", "data": "wine", **values})


def trained(settings: Settings) -> LocalOnly:
    strategy = LocalOnly(settings)
    strategy.start(in_process_grid(settings))
    return strategy


def scaled_like(X: Numbers, rows: Numbers, scaling: str) -> Numbers:
    """Return rows, filled and scaled by what the training rows X of one site say."""
    present = (~np.isnan(X)).sum(axis=0)
    mean = np.nansum(X, axis=0) / np.maximum(present, 1)
    filled, rows = np.where(np.isnan(X), mean, X), np.where(np.isnan(rows), mean, rows)
    if scaling == "none":
        return rows
    if scaling == "minmax":
        low, high = filled.min(axis=0), filled.max(axis=0)
        return (rows - (low + high) / 2) / np.where(high > low, (high - low) / 2, 1.0)
    deviation = filled.std(axis=0)
    return (rows - filled.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def central(
    pool: Callable[..., Any], settings: Any, schema: Schema
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return true and predicted class of all sites' test rows, from one SVC a site."""
    train, test = pool(settings, schema), pool(settings, schema, test=True)
    true, predicted = [], []
    for site in range(settings.sites):
        X, y = train.X[train.sites == site], train.classes[train.sites == site]
        rows = test.X[test.sites == site]
        svc = svc_of(settings).fit(scaled_like(X, X, settings.scaling), y)
        predicted.append(svc.predict(scaled_like(X, rows, settings.scaling)))
        true.append(test.classes[test.sites == site])
    return np.concatenate(true), np.concatenate(predicted)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"data": "breast_cancer"},
        {"C": 30.0, "gamma": 0.3, "sites": 3},
        {"kernel": "linear", "C": 0.01},
        {"scaling": "minmax", "C": 0.1},
        {"scaling": "none"},
        {"data": "breast_cancer", "split": "dirichlet:1", "class_weight": "balanced", "C": 0.02},
    ],
    ids=str,
)
def test_the_counts_are_those_of_one_svc_a_site(pool: Callable[..., Any], changes: dict[str, Any]) -> None:
    settings = settings_of(**changes, privacy="exact")
    strategy = trained(settings)
    schema = strategy.federation.schema
    true, predicted = central(pool, settings, schema)
    classes = range(len(schema.classes))
    found = strategy.outcome.evaluation
    assert strategy.outcome.figures["confusion"] == confusion_matrix(true, predicted, labels=classes).tolist()
    assert found.rows == len(true)
    assert found.accuracy == pytest.approx(accuracy_score(true, predicted))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(true, predicted))
    average = "binary" if len(schema.classes) == 2 else "macro"
    assert found.f1 == pytest.approx(f1_score(true, predicted, average=average))
    assert found.auc is None
    assert strategy.outcome.model is None


@pytest.mark.parametrize(
    "change",
    [
        {"C": 0.02},
        {"gamma": 1.0},
        {"kernel": "linear"},
        {"scaling": "none"},
        {"scaling": "minmax"},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
@pytest.mark.slow
def test_every_setting_reaches_the_sites(change: dict[str, Any]) -> None:
    """Else the test above would not notice that one does not, here and there."""
    base = {"data": "breast_cancer", "C": 10.0 if "scaling" in change else 0.2}
    first, second = (trained(settings_of(**changes)).outcome for changes in (base, base | change))
    assert first.figures["confusion"] != second.figures["confusion"]


def test_missing_cells_get_the_means_of_the_site(
    pool: Callable[..., Any], write_table: Callable[..., str]
) -> None:
    generator, files = np.random.default_rng(0), []
    for site in range(3):
        y = np.arange(60) % 2
        X = generator.normal(size=(60, 3)) + 1.5 * y[:, None] + 100.0 * site
        X[generator.random(X.shape) < 0.3] = np.nan
        if site == 1:
            X[:, 2] = np.nan
        files.append(write_table(X, y, f"site{site}"))
    settings = settings_of(data="|".join(files), sites=3, privacy="exact")
    strategy = trained(settings)
    assert strategy.federation.schema is not None
    true, predicted = central(pool, settings, strategy.federation.schema)
    assert strategy.outcome.figures["confusion"] == confusion_matrix(true, predicted).tolist()


def test_a_site_of_one_class_predicts_that_class(write_table: Callable[..., str]) -> None:
    generator, files = np.random.default_rng(0), []
    for site in range(3):
        y = np.arange(50) % 2 if site else np.ones(50, dtype=np.int64)
        files.append(write_table(generator.normal(size=(50, 2)) + 20.0 * y[:, None], y, f"site{site}"))
    strategy = trained(settings_of(data="|".join(files), sites=3))
    assert strategy.outcome.figures["confusion"] == [[10, 0], [0, 20]]


def test_no_test_rows_no_accuracy() -> None:
    found = trained(settings_of(test_fraction=0.0)).outcome.evaluation
    assert (found.rows, found.accuracy, found.f1) == (0, None, None)


def test_a_huge_matrix_of_counts_is_refused_before_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clients.site.MOST_NUMBERS", 8)
    with pytest.raises(PanSVMError, match="numbers"):
        trained(settings_of())


@pytest.mark.filterwarnings("ignore:Solver terminated early")
def test_an_svm_that_does_not_come_to_an_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trained(settings_of(data="breast_cancer")).outcome.figures["confusion"]
    monkeypatch.setattr("clients.systems.local_only.MOST_STEPS", 1)
    assert trained(settings_of(data="breast_cancer")).outcome.figures["confusion"] != whole


def test_the_audit_has_examined_its_counts(tmp_path: Path) -> None:
    settings = settings_of(audit=True, sites=3)
    run(in_process_grid(settings), settings, tmp_path)
    assert audit(settings, tmp_path).not_examined == []
