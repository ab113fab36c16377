"""The hospital's default: what is charged to its ledger leaves, and everything else only if its node config agrees."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Context, RecordDict

from clients.gate.budget import new_ledger
from clients.gate.promise import check_promise
from clients.gate.simulated import SimulatedContext
from clients.gate.terms import warn_of_risks
from flower_pansvm.errors import BudgetError, PanSVMError, SettingError
from flower_pansvm.tasks.consensus import CONSENSUS
from flower_pansvm.tasks.cutting_planes import CUTS
from flower_pansvm.tasks.joining import JOIN, JoinQuestion
from flower_pansvm.tasks.private_training import PRIVATE_STEP
from flower_pansvm.tasks.scaling import EXTREMES, MOMENTS
from flower_pansvm.tasks.task import Task
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.registry import all_strategies
from strategies.settings import make_settings

MakeGrid = Callable[..., InProcessGrid]
KNOWN: dict[str, Scalar] = {"identity": "north.pem", "roster": "roster.json"}
BUDGET: dict[str, Scalar] = {"epsilon": 1.0, "classes": "0,1", **KNOWN}
NO_LABELS = JoinQuestion((), ("0", "1"), "charged")
DEFENDED = JoinQuestion(())
EXACT = JoinQuestion((), (), "exact")


def context(folder: Path, node: dict[str, Scalar], **config: Any) -> Context:
    own: dict[str, Scalar] = {"name": "north", "state": str(folder), **node}
    return Context(1, 7, own, RecordDict(), make_settings(**config).to_config())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_ledger(tmp_path / "kept", 0.2)
    return tmp_path / "kept"


ANSWERED: dict[str, tuple[dict[str, Scalar], list[tuple[Task[Any, Any], object]]]] = {
    "by default": ({}, []),
    "with a budget": (BUDGET, [(JOIN, NO_LABELS), (PRIVATE_STEP, None)]),
    "defended": ({"exact-sums": "defended"}, [(JOIN, DEFENDED), (MOMENTS, None), (CUTS, None)]),
    "agreed": (
        {"exact-sums": "agreed"},
        [(JOIN, DEFENDED), (JOIN, EXACT), (MOMENTS, None), (CUTS, None), (CONSENSUS, None)],
    ),
    "both": (
        {**BUDGET, "exact-sums": "defended"},
        [(JOIN, NO_LABELS), (PRIVATE_STEP, None), (JOIN, DEFENDED), (MOMENTS, None), (CUTS, None)],
    ),
}
ASKED: list[tuple[Task[Any, Any], object]] = [
    *((JOIN, NO_LABELS), (JOIN, DEFENDED), (JOIN, EXACT)),
    *((PRIVATE_STEP, None), (MOMENTS, None), (CUTS, None), (CONSENSUS, None)),
]


@pytest.mark.parametrize("who", list(ANSWERED))
def test_a_hospital_answers_what_it_has_agreed_to(folder: Path, who: str) -> None:
    node, answered = ANSWERED[who]
    for task, question in ASKED:
        if (task, question) in answered:
            check_promise(context(folder, node), task, question)
        else:
            with pytest.raises(PanSVMError, match=r"Site 'north' (does not take part in sums|has no budget)"):
                check_promise(context(folder, node), task, question)


@pytest.mark.parametrize("preset", ["exact", "paper"])
def test_what_is_defended_with_one_preset_is_exact_with_others(folder: Path, preset: str) -> None:
    check_promise(context(folder, {"exact-sums": "agreed"}, preset=preset), CUTS, None)
    for task, question in ((CUTS, None), (JOIN, DEFENDED)):
        with pytest.raises(SettingError, match=r"sums without noise.*exact-sums='agreed'"):
            check_promise(context(folder, {"exact-sums": "defended"}, preset=preset), task, question)


def test_a_simulated_site_agrees_to_all() -> None:
    node: dict[str, Any] = {"partition-id": 0, "num-partitions": 3}
    here = SimulatedContext(1, 7, node, RecordDict(), make_settings(preset="exact").to_config())
    for task, question in [*ASKED, (EXTREMES, None)]:
        check_promise(here, task, question)


@pytest.mark.parametrize("promise", ["", "public", "Charged", "none"])
def test_a_promise_that_does_not_exist_is_refused(folder: Path, promise: str) -> None:
    for node in ({}, BUDGET, {"exact-sums": "agreed"}):
        with pytest.raises(SettingError, match="does not take part"):
            check_promise(context(folder, node), JOIN, JoinQuestion((), ("0", "1"), promise))


def test_the_refusal_says_what_such_sums_give_away_and_how_to_agree(folder: Path) -> None:
    with pytest.raises(SettingError) as caught:
        check_promise(context(folder, {}), MOMENTS, None)
    text = str(caught.value)
    assert "single patients' rows" in text
    assert "strategy=dp-svm" in text
    assert "exact-sums='defended' into the site's node config" in text
    assert text.count(". ") == 0


@pytest.mark.parametrize(
    ("node", "told"),
    [
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": -1.0}, "above 0"),
        ({"epsilon": 21}, "worth nothing"),
        ({"epsilon": "much"}, "epsilon=much"),
        ({"epsilon": "nan"}, "epsilon=nan"),
        ({"epsilon": 1.0, "delta": 0.1}, "delta=0.1"),
    ],
)
def test_budgets_that_cannot_be_are_refused(folder: Path, node: dict[str, Scalar], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        check_promise(context(folder, {**KNOWN, **node}), JOIN, NO_LABELS)


@pytest.mark.parametrize("missing", ["identity", "roster"])
def test_noise_is_shared_with_known_hospitals_only(folder: Path, missing: str) -> None:
    """Of a hundred sites that the coordinator has invented, each adds a hundredth of the noise, or none."""
    node = {key: value for key, value in BUDGET.items() if key != missing}
    with pytest.raises(BudgetError, match="could invent most of them"):
        check_promise(context(folder, node), JOIN, NO_LABELS)


def test_class_names_are_not_taken_from_the_rows(folder: Path) -> None:
    """Nor from the coordinator."""
    unlisted = {key: value for key, value in BUDGET.items() if key != "classes"}
    from_rows = JoinQuestion((), (), "charged")
    for agreement in ({}, {"exact-sums": "agreed"}):
        for question in (from_rows, NO_LABELS):
            with pytest.raises(BudgetError, match=r"without looking at its rows.*'classes = \[0, 1\]'"):
                check_promise(context(folder, {**unlisted, **agreement}), JOIN, question)
    check_promise(context(folder, BUDGET), JOIN, from_rows)


@pytest.mark.parametrize("strategy", sorted(all_strategies()))
def test_nothing_leaves_a_hospital_that_has_agreed_to_nothing(
    strategy: str, hospital_files: list[Path], hospitals: MakeGrid, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even its name or keys: the run ends at the first question, and the hospital's own log says why."""
    settings = make_settings(strategy=strategy, sites=3)
    grid = hospitals(settings, hospital_files)
    for site in grid._contexts.values():
        del site.node_config["exact-sums"]
    refused = r"does not take part|has no budget"
    with caplog.at_level("ERROR", logger="flwr"), pytest.raises(PanSVMError, match=refused):
        all_strategies()[strategy](settings).start(grid)
    for number in range(3):
        assert sum(f"Site 'hospital{number}'" in line for line in caplog.messages) == 1
    assert len(grid.replies) == 3
    assert not any(reply.has_content() for reply in grid.replies)


def test_a_coordinator_that_says_another_promise_is_refused_at_the_task(
    hospital_files: list[Path],
    hospitals: MakeGrid,
    monkeypatch: pytest.MonkeyPatch,
    state_home: Path,
) -> None:
    for number in range(3):
        new_ledger(state_home / f"site-hospital{number}", 0.2)
    settings = make_settings(sites=3)
    monkeypatch.setattr(type(settings), "promise", "charged")
    grid = hospitals(settings, hospital_files, {"epsilon": 1.0, "classes": "0,1"})
    with pytest.raises(SettingError, match="does not take part in sums without differential privacy"):
        all_strategies()["pan-svm"](settings).start(grid)
    answered = {reply.metadata.message_type for reply in grid.replies if reply.has_content()}
    assert answered == {"query.join"}


def test_a_hospitals_own_log_says_what_it_has_agreed_to(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING", logger="flwr"):
        warn_of_risks(context(folder, {"exact-sums": "defended"}))
        warn_of_risks(context(folder, BUDGET))
    told = [line for line in caplog.messages if "exact-sums" in line]
    assert told == [
        "exact-sums='defended' in the node config: sums may leave from which patients' rows can be found out"
    ]
