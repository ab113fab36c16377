"""An ensemble: the same counts as scikit-learn's SVCs and a majority in one place, and what each site refuses."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from flower_pansvm.errors import FederationError, PanSVMError, SettingError
from flower_pansvm.schema import Schema
from flower_pansvm.systems.ensemble import (
    BALLOT,
    ENSEMBLE_SCORES,
    VOTES,
    BallotBroadcast,
    EnsembleScoresQuestion,
)
from flower_pansvm.systems.local_only import LOCAL_SCORES, LocalScoresQuestion
from simulations.attack.audit import audit
from simulations.engines.in_process import InProcessGrid
from simulations.engines.running import in_process_grid
from strategies.app import run
from strategies.ensemble import SvmEnsemble, gather
from strategies.federation.federation import Federation
from strategies.settings import Settings, make_settings
from strategies.steps.joining import join
from tests.strategies.conftest import svc_of

QUESTION = LocalScoresQuestion(C=1.0, gamma=0.0)


def settings_of(**values: Any) -> Settings:
    return make_settings(**{"strategy": "svm-ensemble", "data": "wine", **values})


def trained(settings: Settings, grid: InProcessGrid | None = None) -> SvmEnsemble:
    strategy = SvmEnsemble(settings)
    strategy.start(grid or in_process_grid(settings))
    return strategy


def central(
    pool: Callable[..., Any], settings: Any, schema: Schema
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the true class of all sites' test rows, shape (rows,), and each site's votes, shape (sites, rows)."""
    train, test, said = pool(settings, schema), pool(settings, schema, test=True), []
    scalings = {"standard": StandardScaler(), "minmax": MinMaxScaler((-1, 1)), "none": "passthrough"}
    for site in range(settings.sites):
        X, y = train.X[train.sites == site], train.classes[train.sites == site]
        if len(np.unique(y)) == 1:
            said.append(np.full(len(test.X), y[0]))
            continue
        model = make_pipeline(
            SimpleImputer(keep_empty_features=True), scalings[settings.scaling], svc_of(settings)
        )
        said.append(model.fit(X, y).predict(test.X))
    return test.classes, np.array(said)


def majority(said: NDArray[np.int64], classes: int) -> list[int]:
    """Return the class with the most votes for each row; of several the first."""
    counts = [[int((row == name).sum()) for name in range(classes)] for row in said.T]
    return [votes.index(max(votes)) for votes in counts]


def assert_same_as_central(pool: Callable[..., Any], settings: Settings, strategy: SvmEnsemble) -> None:
    schema = strategy.federation.schema
    true, said = central(pool, settings, schema)
    classes = range(len(schema.classes))
    predicted = majority(said, len(classes))
    found, figures = strategy.outcome.evaluation, strategy.outcome.figures
    assert figures["confusion"] == confusion_matrix(true, predicted, labels=classes).tolist()
    assert figures["rows_voted_on"] == len(true)
    assert figures["unanimous"] == pytest.approx((said == said[0]).all(axis=0).mean())
    assert found.accuracy == pytest.approx(accuracy_score(true, predicted))
    assert (found.rows, found.auc, strategy.outcome.model) == (len(true), None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"data": "breast_cancer", "split": "dirichlet:1", "class_weight": "balanced", "C": 0.02},
        {"C": 30.0, "gamma": 0.3, "sites": 4},
        {"scaling": "minmax", "C": 0.1},
        {"scaling": "none"},
    ],
    ids=str,
)
def test_the_counts_are_those_of_the_majority_in_one_place(
    pool: Callable[..., Any], changes: dict[str, Any]
) -> None:
    settings = settings_of(**changes, privacy="exact")
    assert_same_as_central(pool, settings, trained(settings))


def test_missing_cells_are_filled_by_each_voter(
    pool: Callable[..., Any], write_table: Callable[..., str]
) -> None:
    generator, files = np.random.default_rng(0), []
    for site in range(3):
        y = np.arange(60) % 2
        X = generator.normal(size=(60, 3)) + 1.5 * y[:, None] + site
        X[generator.random(X.shape) < 0.3] = np.nan
        if site == 1:
            X[:, 2] = np.nan
        files.append(write_table(X, y, f"site{site}"))
    settings = settings_of(data="|".join(files), sites=3, privacy="exact")
    assert_same_as_central(pool, settings, trained(settings))


def test_a_site_of_one_class_votes_for_it_and_of_a_tie_the_first_class_is_taken(
    pool: Callable[..., Any], write_table: Callable[..., str]
) -> None:
    generator, files = np.random.default_rng(0), []
    for site, y in enumerate((np.zeros(50), np.ones(50), np.arange(50) % 2, np.arange(50) % 2)):
        X = generator.normal(size=(50, 2)) + 20.0 * y[:, None]
        files.append(write_table(X, y.astype(np.int64), f"site{site}"))
    first = settings_of(data="|".join(files), sites=4)
    strategy = trained(first)
    assert_same_as_central(pool, first, strategy)
    assert (strategy.outcome.figures["tied"], strategy.outcome.figures["unanimous"]) == (0.0, 0.0)
    second = settings_of(data="|".join(files[:2]), sites=2, min_sites=2)
    tied = trained(second).outcome.figures
    assert (tied["tied"], tied["confusion"]) == (1.0, [[10, 0], [10, 0]])


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


def test_more_votes_than_a_site_gives_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    federation, ballot = gathered(settings_of(sites=3))
    federation.broadcast(BALLOT, ballot)
    monkeypatch.setattr("clients.site.MOST_NUMBERS", 3 * len(ballot.rows) - 1)
    with pytest.raises(PanSVMError, match="numbers"):
        federation.secure_sum(VOTES, QUESTION)


def test_the_audit_says_that_test_rows_are_shown_and_that_votes_are_not_examined(tmp_path: Path) -> None:
    settings = settings_of(audit=True, sites=3)
    run(in_process_grid(settings), settings, tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    found = audit(settings, tmp_path)
    assert found.not_examined == ["votes"]
    assert found.entries["rows_shown"] == result["rows_test"] == result["rows_voted_on"] > 0
    assert "test rows, all cells of them, shown to the coordinator and every site" in str(found)
    assert (result["model_sha256"], result["auc"], result["round_trips"]) == (None, None, 4)


def gathered(settings: Settings) -> tuple[Federation, BallotBroadcast]:
    """Return a federation that has joined, and the test rows of all sites."""
    strategy = SvmEnsemble(settings)
    federation = strategy.federation = Federation(in_process_grid(settings), settings)
    return federation, gather(federation, len(join(federation, settings).columns))
