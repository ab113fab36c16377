"""An SVM of each site's own: the same counts as scikit-learn's SVCs, alone or by votes, and what each site refuses."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from flower_pansvm.errors import FederationError, PanSVMError, SettingError
from flower_pansvm.systems.ensemble import (
    BALLOT,
    ENSEMBLE_SCORES,
    VOTES,
    BallotBroadcast,
    EnsembleScoresQuestion,
)
from flower_pansvm.systems.local_only import LOCAL_SCORES, LocalScoresQuestion
from simulations.engines.in_process import InProcessGrid
from strategies.ensemble import gather
from strategies.federation.federation import Federation
from strategies.settings import Settings, make_settings
from tests.strategies.conftest import joined, svc_of, trained

QUESTION = LocalScoresQuestion(C=1.0, gamma=0.0)
BOTH = pytest.mark.parametrize("strategy", ["local-only", "svm-ensemble"])


def settings_of(**values: Any) -> Settings:
    return make_settings(**{"strategy": "svm-ensemble", "data": "wine", **values})


def majority(said: NDArray[np.int64], classes: int) -> list[int]:
    """Return the class with the most votes for each row; of several the first."""
    counts = [[int((row == name).sum()) for name in range(classes)] for row in said.T]
    return [votes.index(max(votes)) for votes in counts]


def assert_same_as_central(pool: Callable[..., Any], settings: Any) -> dict[str, Any]:
    """Compare a run with one SVC a site, each asked about all sites' test rows; return the run's figures."""
    strategy = trained(settings)
    schema, found, figures = strategy.federation.schema, strategy.outcome.evaluation, strategy.outcome.figures
    train, test, votes = pool(settings, schema), pool(settings, schema, test=True), []
    scalings = {"standard": StandardScaler(), "minmax": MinMaxScaler((-1, 1)), "none": "passthrough"}
    for site in range(settings.sites):
        X, y = train.X[train.sites == site], train.classes[train.sites == site]
        if len(np.unique(y)) == 1:
            votes.append(np.full(len(test.X), y[0]))
            continue
        fill = SimpleImputer(keep_empty_features=True)
        model = make_pipeline(fill, scalings[settings.scaling], svc_of(settings))
        votes.append(model.fit(X, y).predict(test.X))
    true, said, classes = test.classes, np.array(votes), range(len(schema.classes))
    if settings.strategy == "local-only":
        predicted = said[test.sites, np.arange(len(true))]
    else:
        predicted = majority(said, len(classes))
        assert figures["rows_voted_on"] == len(true)
        assert strategy.federation.costs.round_trips == 4
        assert figures["unanimous"] == pytest.approx((said == said[0]).all(axis=0).mean())
    assert np.array_equal(found.confusion, confusion_matrix(true, predicted, labels=classes))
    assert found.accuracy == pytest.approx(accuracy_score(true, predicted))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(true, predicted))
    average = "binary" if len(classes) == 2 else "macro"
    assert found.f1 == pytest.approx(f1_score(true, predicted, average=average))
    assert (found.rows, found.auc, strategy.outcome.model) == (len(true), None, None)
    return dict(figures)


@BOTH
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"data": "breast_cancer"},
        {"C": 30.0, "gamma": 0.3, "sites": 4},
        {"kernel": "linear", "C": 0.01},
        {"scaling": "minmax", "C": 0.1},
        {"scaling": "none"},
        {"data": "breast_cancer", "split": "dirichlet:1", "class_weight": "balanced", "C": 0.02},
    ],
    ids=str,
)
def test_the_counts_are_those_of_an_svc_a_site_in_one_place(
    strategy: str, changes: dict[str, Any], pool: Callable[..., Any]
) -> None:
    assert_same_as_central(pool, settings_of(strategy=strategy, **changes, privacy="exact"))


@BOTH
def test_missing_cells_are_filled_by_each_site(
    strategy: str, pool: Callable[..., Any], write_table: Callable[..., str]
) -> None:
    generator, files = np.random.default_rng(0), []
    for site in range(3):
        y = np.arange(60) % 2
        X = generator.normal(size=(60, 3)) + 1.5 * y[:, None] + site
        X[generator.random(X.shape) < 0.3] = np.nan
        if site == 1:
            X[:, 2] = np.nan
        files.append(write_table(X, y, f"site{site}"))
    assert_same_as_central(
        pool, settings_of(strategy=strategy, data="|".join(files), sites=3, privacy="exact")
    )


@BOTH
def test_a_site_of_one_class_predicts_that_class_and_of_a_tie_the_first_is_taken(
    strategy: str, pool: Callable[..., Any], write_table: Callable[..., str]
) -> None:
    generator, files = np.random.default_rng(0), []
    for site, y in enumerate((np.zeros(50), np.ones(50), np.arange(50) % 2, np.arange(50) % 2)):
        X = generator.normal(size=(50, 2)) + 20.0 * y[:, None]
        files.append(write_table(X, y.astype(np.int64), f"site{site}"))
    all_four = settings_of(strategy=strategy, data="|".join(files), sites=4)
    figures = assert_same_as_central(pool, all_four)
    if strategy == "svm-ensemble":
        assert (figures["tied"], figures["unanimous"]) == (0.0, 0.0)
        two = settings_of(data="|".join(files[:2]), sites=2, min_sites=2)
        tied = trained(two).outcome
        assert (tied.figures["tied"], tied.evaluation.confusion) == (1.0, ((10, 0), (10, 0)))


@pytest.mark.filterwarnings("ignore:Solver terminated early")
def test_an_svm_that_does_not_come_to_an_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(strategy="local-only", data="breast_cancer")
    whole = trained(settings).outcome.evaluation.confusion
    monkeypatch.setattr("clients.systems.local_only.MOST_STEPS", 1)
    assert trained(settings).outcome.evaluation.confusion != whole


def test_without_test_rows_there_is_nothing_to_vote_on() -> None:
    with pytest.raises(SettingError, match="test-fraction"):
        trained(settings_of(test_fraction=0.0))


def test_a_hospital_that_has_not_agreed_does_not_vote(
    hospitals: Callable[..., InProcessGrid], hospital_files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a coordinator could leave out the question for the rows, and put its own to the vote."""
    monkeypatch.setattr(
        "strategies.ensemble.gather", lambda *_: BallotBroadcast(np.zeros((4, 2)), ("nobody",) * 4)
    )
    settings = settings_of(sites=3, data="", test_fraction=0.0)
    with pytest.raises(PanSVMError, match="disclose"):
        trained(settings, hospitals(settings, hospital_files))


def gathered(settings: Settings) -> tuple[Federation, BallotBroadcast]:
    """Return a federation that has joined, and the test rows of all sites."""
    federation = joined(settings)
    return federation, gather(federation, len(federation.schema.columns))


def test_a_coordinator_may_put_rows_of_its_own_to_the_vote() -> None:
    """A site knows its own rows only; docs/rivals.md says what follows."""
    federation, ballot = gathered(settings_of(sites=3))
    more = np.vstack([ballot.rows, np.zeros((5, ballot.rows.shape[1]))])
    federation.broadcast(BALLOT, BallotBroadcast(more, (*ballot.sites, *["nobody"] * 5)))
    votes = federation.secure_sum(VOTES, QUESTION).votes
    assert (votes[-5:].sum(axis=1) == 3).all()


def test_a_site_has_one_svm_a_run_whichever_task_asks() -> None:
    federation = trained(settings_of(sites=3)).federation
    assert (federation.secure_sum(VOTES, QUESTION).votes.sum(axis=1) == 3).all()
    with pytest.raises(FederationError):
        federation.secure_sum(LOCAL_SCORES, replace(QUESTION, C=2.0))


def test_a_coordinator_that_names_other_classes_learns_a_label() -> None:
    """It knows the rows, and says what was voted for; docs/rivals.md has it."""
    federation, ballot = gathered(settings_of(sites=3, data="breast_cancer"))
    federation.broadcast(BALLOT, ballot)
    asked = np.zeros(len(ballot.rows), dtype=np.int64)
    asked[7] = 1
    counts = federation.secure_sum(ENSEMBLE_SCORES, EnsembleScoresQuestion(asked)).confusion
    assert sorted(np.reshape(counts, (2, 2))[:, 1]) == [0, 1]


def test_more_numbers_than_a_site_gives_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    federation, ballot = gathered(settings_of(sites=3))
    federation.broadcast(BALLOT, ballot)
    monkeypatch.setattr("clients.site.MOST_NUMBERS", 3 * len(ballot.rows) - 1)
    with pytest.raises(PanSVMError, match="numbers"):
        federation.secure_sum(VOTES, QUESTION)
    monkeypatch.setattr("clients.site.MOST_NUMBERS", 8)
    with pytest.raises(PanSVMError, match="numbers"):
        trained(settings_of(strategy="local-only"))
