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
from sklearn.svm import SVC

from flower_pansvm.errors import FederationError, PanSVMError, SettingError
from flower_pansvm.schema import Schema
from flower_pansvm.secure_sum import protocol_names
from flower_pansvm.systems.ensemble import (
    BALLOT,
    ENSEMBLE_SCORES,
    HELD_OUT,
    VOTES,
    BallotBroadcast,
    EnsembleScoresQuestion,
)
from flower_pansvm.systems.local_only import LOCAL_SCORES, LocalScoresQuestion
from flower_pansvm.tasks import Broadcast
from simulations.attack.audit import audit
from simulations.engines.in_process import InProcessGrid
from simulations.engines.running import in_process_grid
from strategies.app import run
from strategies.ensemble import SvmEnsemble, gather
from strategies.federation.federation import Federation
from strategies.federation.opening import unpack
from strategies.settings import Settings, make_settings
from strategies.steps.joining import join
from tests.conftest import kept_rows

Change = Callable[[BallotBroadcast], BallotBroadcast]
QUESTION = LocalScoresQuestion(C=1.0, gamma=0.0)
AGREED = {"test-rows": "agreed"}


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
        svc = SVC(
            C=settings.C,
            kernel=settings.kernel,
            gamma=settings.gamma,
            class_weight="balanced" if settings.class_weight == "balanced" else None,
        )
        model = make_pipeline(SimpleImputer(keep_empty_features=True), scalings[settings.scaling], svc)
        said.append(model.fit(X, y).predict(test.X))
    return test.classes, np.array(said)


def majority(said: NDArray[np.int64], classes: int) -> list[int]:
    """Return the class with the most votes for each row; of several the first."""
    counts = [[int((row == name).sum()) for name in range(classes)] for row in said.T]
    return [votes.index(max(votes)) for votes in counts]


def assert_same_as_central(pool: Callable[..., Any], settings: Settings, strategy: SvmEnsemble) -> None:
    schema = strategy.federation.schema
    assert schema is not None
    true, said = central(pool, settings, schema)
    classes = range(len(schema.classes))
    predicted = majority(said, len(classes))
    found, figures = strategy.outcome.evaluation, strategy.outcome.figures
    assert figures["confusion"] == confusion_matrix(true, predicted, labels=classes).tolist()
    assert figures["rows_voted_on"] == len(true)
    assert figures["unanimous"] == pytest.approx((said == said[0]).all(axis=0).mean())
    assert found is not None
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
        *(
            pytest.param({"sites": 3, "aggregation": name}, marks=[pytest.mark.slow] * (name == "paillier"))
            for name in protocol_names()
        ),
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


@pytest.mark.parametrize("changes", [{"C": "auto"}, {"gamma": "auto"}])
def test_nothing_is_chosen_by_cross_validation(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="'auto', but svm-ensemble does not choose"):
        settings_of(**changes)


def test_without_test_rows_there_is_nothing_to_vote_on() -> None:
    with pytest.raises(SettingError, match=r"No site has a test row to vote on.*Raise test-fraction"):
        trained(settings_of(test_fraction=0.0))


def test_rows_do_not_leave_a_hospital_that_has_not_agreed(
    hospitals: Callable[..., InProcessGrid], hospital_files: list[Path]
) -> None:
    settings = settings_of(sites=3, data="")
    grid = hospitals(settings, hospital_files)
    with pytest.raises(
        PanSVMError, match=r"does not disclose all cells of its test rows.*test-rows='agreed'"
    ):
        trained(settings, grid)
    assert {reply.metadata.message_type for reply in grid.replies if reply.has_content()} == {"query.join"}
    agreed = trained(settings, hospitals(settings, hospital_files, AGREED, run_id=2))
    kept = sum(np.count_nonzero(kept_rows(file)) for file in hospital_files)
    assert agreed.outcome.figures["rows_voted_on"] == kept


def test_a_hospital_that_has_not_agreed_does_not_vote(
    hospitals: Callable[..., InProcessGrid], hospital_files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a coordinator could leave out the question for the rows, and put its own to the vote."""
    monkeypatch.setattr(
        "strategies.ensemble.gather", lambda *_: BallotBroadcast(np.zeros((4, 2)), ("nobody",) * 4)
    )
    settings = settings_of(sites=3, data="", test_fraction=0.0)
    with pytest.raises(PanSVMError, match="does not disclose all cells of its test rows"):
        trained(settings, hospitals(settings, hospital_files))


def swapped(ballot: BallotBroadcast) -> BallotBroadcast:
    rows = ballot.rows.copy()
    rows[[0, 1]] = rows[[1, 0]]
    return replace(ballot, rows=rows)


def altered(ballot: BallotBroadcast) -> BallotBroadcast:
    rows = ballot.rows.copy()
    rows[0, 0] += 1e-9
    return replace(ballot, rows=rows)


CHANGES: dict[str, Change] = {
    "one cell of a row": altered,
    "two rows in another order": swapped,
    "a row more under its name": lambda ballot: BallotBroadcast(
        np.vstack([ballot.rows, ballot.rows[:1]]), (*ballot.sites, ballot.sites[0])
    ),
    "a row less": lambda ballot: BallotBroadcast(ballot.rows[1:], ballot.sites[1:]),
    "under another's name": lambda ballot: replace(ballot, sites=(ballot.sites[-1], *ballot.sites[1:])),
    "a name less": lambda ballot: replace(ballot, sites=ballot.sites[:-1]),
    "a column more": lambda ballot: replace(ballot, rows=np.hstack([ballot.rows, ballot.rows[:, :1]])),
    "one long row": lambda ballot: replace(ballot, rows=ballot.rows.ravel()),
    "nothing": lambda ballot: BallotBroadcast(np.empty((0, 13)), ()),
    "an infinite cell": lambda ballot: BallotBroadcast(
        np.vstack([ballot.rows, np.full_like(ballot.rows[:1], np.inf)]), (*ballot.sites, "nobody")
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_ballot_with_other_rows_under_a_sites_name_is_refused(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broadcast = Federation.broadcast

    def changed(self: Federation, kind: Broadcast[Any], message: Any) -> None:
        broadcast(self, kind, CHANGES[change](message) if kind is BALLOT else message)

    monkeypatch.setattr(Federation, "broadcast", changed)
    with pytest.raises(
        FederationError, match=r"refuses a ballot on which the rows under its name|number that is not finite"
    ):
        trained(settings_of())


def test_a_coordinator_may_put_rows_of_its_own_to_the_vote() -> None:
    """A site knows its own rows only; docs/rivals.md says what follows."""
    federation, ballot = gathered(settings_of(sites=3))
    more = np.vstack([ballot.rows, np.zeros((5, ballot.rows.shape[1]))])
    federation.broadcast(BALLOT, BallotBroadcast(more, (*ballot.sites, *["nobody"] * 5)))
    votes = federation.secure_sum(VOTES, QUESTION).votes
    assert (votes[-5:].sum(axis=1) == 3).all()


@pytest.mark.parametrize("task", [VOTES, LOCAL_SCORES], ids=lambda task: task.name)
def test_a_site_has_one_svm_a_run(task: Any) -> None:
    federation = trained(settings_of(sites=3)).federation
    assert (federation.secure_sum(VOTES, QUESTION).votes.sum(axis=1) == 3).all()
    with pytest.raises(FederationError, match="refuses to train a second SVM in this run"):
        federation.secure_sum(task, replace(QUESTION, C=2.0))


def test_a_site_votes_on_one_ballot_a_run() -> None:
    federation, ballot = gathered(settings_of(sites=3))
    federation.broadcast(BALLOT, ballot)
    federation.secure_sum(VOTES, QUESTION)
    more = np.vstack([ballot.rows, np.zeros((1, ballot.rows.shape[1]))])
    federation.broadcast(BALLOT, BallotBroadcast(more, (*ballot.sites, "nobody")))
    with pytest.raises(FederationError, match="refuses a second ballot in this run"):
        federation.secure_sum(VOTES, QUESTION)


def test_a_site_counts_once_a_run() -> None:
    """Two lists of classes that differ in one row would tell its label."""
    federation = trained(settings_of(sites=3)).federation
    rows = len(gathered(settings_of(sites=3))[1].rows)
    with pytest.raises(FederationError, match="refuses to count its test rows twice"):
        federation.secure_sum(ENSEMBLE_SCORES, EnsembleScoresQuestion(np.ones(rows, dtype=np.int64)))


def test_a_coordinator_that_names_other_classes_learns_a_label() -> None:
    """It knows the rows, and says what was voted for; docs/rivals.md has it."""
    federation, ballot = gathered(settings_of(sites=3, data="breast_cancer"))
    federation.broadcast(BALLOT, ballot)
    asked = np.zeros(len(ballot.rows), dtype=np.int64)
    asked[7] = 1
    counts = federation.secure_sum(ENSEMBLE_SCORES, EnsembleScoresQuestion(asked)).confusion
    assert sorted(np.reshape(counts, (2, 2))[:, 1]) == [0, 1]


@pytest.mark.parametrize("predicted", [[], [0], [3], [-1]], ids=str)
def test_classes_that_are_none_are_refused(predicted: list[int]) -> None:
    federation, ballot = gathered(settings_of(sites=3))
    federation.broadcast(BALLOT, ballot)
    wrong = np.array(predicted if predicted in ([], [0]) else predicted * len(ballot.rows), dtype=np.int64)
    with pytest.raises(FederationError, match="not told one class for each row"):
        federation.secure_sum(ENSEMBLE_SCORES, EnsembleScoresQuestion(wrong))


@pytest.mark.parametrize("C", [0.0, np.nan])
def test_a_site_refuses_what_no_settings_say(C: float) -> None:
    federation, ballot = gathered(settings_of(sites=3))
    federation.broadcast(BALLOT, ballot)
    with pytest.raises(PanSVMError, match="refuses to train an SVM"):
        federation.secure_sum(VOTES, replace(QUESTION, C=C))


def test_more_votes_than_a_site_gives_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    federation, ballot = gathered(settings_of(sites=3))
    federation.broadcast(BALLOT, ballot)
    monkeypatch.setattr("clients.gate.requests.MOST_NUMBERS", 3 * len(ballot.rows) - 1)
    with pytest.raises(PanSVMError, match="numbers at once"):
        federation.secure_sum(VOTES, QUESTION)


@pytest.mark.parametrize(
    "wrong", [np.ones((1, 2)), np.full((3, 3), 0.5), np.full((3, 3), -1.0)], ids=np.shape
)
def test_counts_that_cannot_be_end_the_run(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "strategies.federation.opening.unpack",
        lambda *given: {"confusion": wrong} if given[1] is ENSEMBLE_SCORES else unpack(*given),
    )
    with pytest.raises(FederationError, match="'ensemble_scores' over"):
        trained(settings_of())


@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0, -1.0])
def test_votes_that_cannot_be_end_the_run(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(*given: Any) -> dict[str, Any]:
        sums = unpack(*given)
        return {name: factor * part for name, part in sums.items()} if given[1] is VOTES else sums

    monkeypatch.setattr("strategies.federation.opening.unpack", scaled)
    with pytest.raises(FederationError, match="votes"):
        trained(settings_of())


@pytest.mark.parametrize("rows", [np.zeros(13), np.zeros((2, 12)), np.full((2, 13), -np.inf)], ids=np.shape)
def test_test_rows_that_cannot_be_end_the_run(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    collect = Federation.collect

    def changed(self: Federation, task: Any, question: Any) -> Any:
        answers = collect(self, task, question)
        return (
            {node: replace(one, rows=rows) for node, one in answers.items()} if task is HELD_OUT else answers
        )

    monkeypatch.setattr(Federation, "collect", changed)
    with pytest.raises(
        FederationError, match="'site-000' disclosed as its test rows is no table of 13 columns"
    ):
        trained(settings_of())


def test_test_rows_votes_and_counts_leave_and_nothing_else() -> None:
    strategy = trained(settings_of())
    told = strategy.federation.costs.disclosed()
    summed = {(one["task"], one["result"]) for one in told if one["how"] == "perturbed"}
    assert summed == {("votes", "votes"), ("ensemble_scores", "confusion")}
    open_to_read = {(one["task"], one["result"]) for one in told if one["how"] == "disclosed"}
    assert {one for one in open_to_read if one[0] != "join"} == {("held_out", "rows")}


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
