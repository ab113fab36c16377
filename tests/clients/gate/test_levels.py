"""The level decides which records a request's answer is made of: what a hospital answers, and what the code sees."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clients.budget import new_ledger
from clients.gate.levels import TESTED, level_of
from clients.hospital import Hospital, SimulatedContext
from clients.policy import warn_of_risks
from flower_pansvm.consents import AGREED, LEVELS
from flower_pansvm.errors import BudgetError, PanSVMError, SettingError
from flower_pansvm.systems.common import JOIN, JoinQuestion
from flower_pansvm.systems.scaling import MOMENTS
from flower_pansvm.tasks import Task
from flower_pansvm.terms import NOISES, Scalar
from strategies.registry import STRATEGIES
from strategies.settings import make_settings
from tests.conftest import MakeGrid
from tests.contexts import SIMULATED_NODE, own_hospital
from tests.tasks import ROWS, TASKS

KNOWN: dict[str, Scalar] = {"identity": "north.pem", "roster": "roster.json"}
BUDGET: dict[str, Scalar] = {"epsilon": 1.0, "classes": "0,1", **KNOWN}
DP_JOIN = JoinQuestion((), ("0", "1"), dp=True)


def hospital(folder: Path, node: dict[str, Scalar], **config: Any) -> Hospital:
    return own_hospital({"name": "north", "state": str(folder), **node}, **config)


def simulated(**config: Any) -> Hospital:
    return own_hospital(SIMULATED_NODE, kind=SimulatedContext, **config)


def question_of(task: Task[Any, Any]) -> JoinQuestion | None:
    """Return a question as far as a level depends on it."""
    return JoinQuestion(()) if task is JOIN else None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_ledger(tmp_path / "kept", 0.2)
    return tmp_path / "kept"


# Levels, policies, kinds of tasks


@pytest.mark.parametrize("policy", [None, *LEVELS])
@pytest.mark.parametrize("asked", ["auto", *LEVELS])
def test_a_hospital_answers_at_no_weaker_level_than_its_policy(
    asked: str, policy: str | None, folder: Path
) -> None:
    node: dict[str, Scalar] = {**BUDGET, "noise": 0.25, **({} if policy is None else {"privacy": policy})}
    for task in TASKS:
        here = hospital(folder, {**node, **dict.fromkeys(task.consents, AGREED)})
        # Few strategies have such settings; a coordinator may send them.
        here = replace(here, terms=replace(here.terms, privacy=asked))
        of_run = "perturbed" if asked == "auto" else asked
        tested = ROWS[task.name].leaves == TESTED
        level = "dp" if task.dp else of_run
        mixed = asked == "dp" and (tested or not task.dp)
        weakest = of_run if tested else level
        if task.simulated or mixed or LEVELS.index(weakest) < LEVELS.index(policy or "dp"):
            with pytest.raises(SettingError, match=r"Site 'north' (does not|refuses)"):
                level_of(here, task.name, ROWS[task.name], question_of(task))
            continue
        assert level_of(here, task.name, ROWS[task.name], question_of(task)) == level
        if task.consents:
            here = replace(here, policy=replace(here.policy, consents=frozenset()))
            with pytest.raises(SettingError, match="node"):
                level_of(here, task.name, ROWS[task.name], question_of(task))


@pytest.mark.parametrize("asked", ["auto", *LEVELS])
def test_a_run_that_is_private_is_joined_at_level_dp(asked: str, folder: Path) -> None:
    for policy in LEVELS:
        here = hospital(folder, {**BUDGET, "privacy": policy})
        here = replace(here, terms=replace(here.terms, privacy=asked))
        assert level_of(here, JOIN.name, ROWS[JOIN.name], DP_JOIN) == "dp"
    with pytest.raises(BudgetError, match="has no budget"):
        level_of(hospital(folder, {"privacy": "exact"}), JOIN.name, ROWS[JOIN.name], DP_JOIN)


@pytest.mark.parametrize("asked", ["perturbed", "exact"])
def test_a_simulated_site_agrees_to_all(asked: str) -> None:
    for task in TASKS:
        level = "dp" if task.dp else "exact" if task.simulated else asked
        assert level_of(simulated(privacy=asked), task.name, ROWS[task.name], question_of(task)) == level


@pytest.mark.parametrize("asked", NOISES)
@pytest.mark.parametrize("least", [None, *NOISES])
def test_a_hospital_does_not_answer_with_less_noise_than_its_own(
    asked: float, least: float | None, folder: Path
) -> None:
    node: dict[str, Scalar] = {"privacy": "perturbed"}
    if least is not None:
        node["noise"] = least
    here = hospital(folder, node, noise=asked)
    if asked < (least or 0.5):
        with pytest.raises(SettingError, match=rf"refuses noise={asked:g}.*{least or 0.5:g}"):
            level_of(here, MOMENTS.name, ROWS[MOMENTS.name], None)
    else:
        assert level_of(here, MOMENTS.name, ROWS[MOMENTS.name], None) == "perturbed"


@pytest.mark.parametrize(
    ("node", "told"),
    [
        *(({"privacy": word}, "privacy") for word in ("Exact", "auto", "")),
        *(({"privacy": "perturbed", "noise": noise}, "noise") for noise in ("much", 0.0, "nan")),
        *(({key: "agreed"}, f"unknown key '{key}'") for key in ("exact-sums", "privacy ")),
        ({"seperator": ";"}, "unknown key 'seperator'. Did you mean 'separator'"),
        ({"separator": ";;"}, "separator"),
        # A key of a system beside the consent to it only.
        ({"risk-bound": 0.4}, "unknown key 'risk-bound'.*weak-models"),
        ({"risk-bond": 0.4, "weak-models": "agreed"}, "unknown key 'risk-bond'. Did you mean 'risk-bound'"),
        ({"risk-bound": 1.4, "weak-models": "agreed"}, "risk-bound"),
        *(({**KNOWN, "epsilon": epsilon}, "epsilon") for epsilon in (-1.0, 21, "much", "nan")),
        ({**KNOWN, "epsilon": 1.0, "delta": 0.1}, "delta"),
    ],
    ids=str,
)
def test_a_misspelt_policy_or_budget_is_an_error_and_agrees_to_nothing(
    node: dict[str, Scalar], told: str, folder: Path
) -> None:
    task, question = (JOIN, DP_JOIN) if "epsilon" in node else (MOMENTS, None)
    with pytest.raises(SettingError, match=told):
        level_of(hospital(folder, node), task.name, ROWS[task.name], question)


@pytest.mark.parametrize(("asked", "weakest"), [("exact", "dp"), ("exact", "perturbed"), ("perturbed", "dp")])
def test_the_refusal_says_who_learns_what_and_how_to_agree(asked: str, weakest: str, folder: Path) -> None:
    here = hospital(folder, {"privacy": weakest, "noise": 0.25}, privacy=asked)
    with pytest.raises(SettingError, match="the coordinator can compute") as caught:
        level_of(here, MOMENTS.name, ROWS[MOMENTS.name], None)
    assert f"write privacy='{asked}' into the site's node config" in str(caught.value)


# What a budget takes


@pytest.mark.parametrize("missing", ["identity", "roster"])
def test_noise_is_shared_with_known_hospitals_only(folder: Path, missing: str) -> None:
    """Of a hundred sites that the coordinator has invented, each adds a hundredth of the noise, or none."""
    node = {key: value for key, value in BUDGET.items() if key != missing}
    with pytest.raises(BudgetError, match="invent"):
        level_of(hospital(folder, node), JOIN.name, ROWS[JOIN.name], DP_JOIN)


@pytest.mark.parametrize("policy", LEVELS)
def test_class_names_are_not_taken_from_the_rows(folder: Path, policy: str) -> None:
    """Nor from the coordinator."""
    unlisted = {key: value for key, value in BUDGET.items() if key != "classes"}
    from_rows = JoinQuestion((), (), dp=True)
    for question in (from_rows, DP_JOIN):
        with pytest.raises(BudgetError, match="classes"):
            level_of(hospital(folder, {**unlisted, "privacy": policy}), JOIN.name, ROWS[JOIN.name], question)
    level_of(hospital(folder, BUDGET), JOIN.name, ROWS[JOIN.name], from_rows)


# In a run


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_nothing_leaves_a_hospital_that_has_agreed_to_nothing(
    strategy: str, hospital_files: list[Path], hospitals: MakeGrid, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even its name or keys: the run ends at the first question, and the hospital's own log says why."""
    settings = make_settings(strategy=strategy, sites=3)
    grid = hospitals(settings, hospital_files)
    for site in grid._contexts.values():
        del site.node_config["privacy"]
    refused = r"does not take part|has no budget"
    with caplog.at_level("ERROR", logger="flwr"), pytest.raises(PanSVMError, match=refused):
        STRATEGIES[strategy](settings).start(grid)
    for number in range(3):
        assert sum(f"Site 'hospital{number}'" in line for line in caplog.messages) == 1
    assert len(grid.replies) == 3
    assert not any(reply.has_content() for reply in grid.replies)


@pytest.mark.parametrize("policy", ["dp", "exact"])
def test_a_coordinator_that_has_a_run_joined_as_private_is_refused_at_the_task(
    policy: str,
    hospital_files: list[Path],
    hospitals: MakeGrid,
    monkeypatch: pytest.MonkeyPatch,
    state_home: Path,
) -> None:
    """At its policy dp, what is not differentially private; at any, in a run that says privacy=dp."""
    for number in range(3):
        new_ledger(state_home / f"site-hospital{number}", 0.2)
    settings = make_settings(sites=3)
    monkeypatch.setattr(type(settings), "dp", True)
    grid = hospitals(settings, hospital_files, {"epsilon": 1.0, "classes": "0,1", "privacy": policy})
    if policy == "exact":
        for site in grid._contexts.values():
            site.run_config = {**site.run_config, "privacy": "dp"}
        monkeypatch.setattr(type(settings), "run_config", site.run_config)
    with pytest.raises(
        SettingError, match=r"does not take part in a run|which is not differentially private"
    ):
        STRATEGIES["pan-svm"](settings).start(grid)
    answered = {reply.metadata.message_type for reply in grid.replies if reply.has_content()}
    assert answered == {"query.join"}


def test_a_hospitals_own_log_says_what_it_has_agreed_to(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING", logger="flwr"):
        for policy in LEVELS:
            own = hospital(folder, {"privacy": policy})
            warn_of_risks(own.policy, own.terms)
    told = [line for line in caplog.messages if "privacy" in line]
    assert len(told) == 1
    assert "privacy='exact' in the node config" in told[0]
