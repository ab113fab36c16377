"""A person at a hospital decides on each run, if the policy says so, before anything of it is answered."""

import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from clients.app import TASKS
from clients.deployment import approvals
from clients.deployment.approvals import largest_charge, waiting_runs
from clients.deployment.status import WARNING, status_of
from clients.runs import RUNS_FILE, SYSTEM_FILES, LoggedRun, read_runs
from clients.state_folder import write_checked
from flower_pansvm.errors import BudgetError, PanSVMError, SettingError
from flower_pansvm.privacy.accountant import rho_of
from flower_pansvm.systems.common import SCHEMA, JoinQuestion
from flower_pansvm.systems.dp_svm import PRIVATE_BINS, BinsQuestion
from flower_pansvm.systems.mixture.tasks import MIXTURE_SCORES
from flower_pansvm.systems.random_kernel import MEANS
from flower_pansvm.systems.scaling import MOMENTS
from flower_pansvm.systems.selection import CLASS_MOMENTS
from flower_pansvm.tasks import Nothing
from simulations.attack.active import registry
from simulations.attack.active.hospitals import ADDRESS, FalseCoordinator, Hospitals
from simulations.attack.active.nearness import asked_at
from strategies.registry import STRATEGIES
from strategies.settings import settings_from
from strategies.steps import joining
from tests.command_line import Run


@pytest.fixture
def hospitals(tmp_path: Path) -> Iterator[Hospitals]:
    with registry.own_account(tmp_path):
        made = Hospitals(tmp_path / "study", {"first": 60, "second": 60, "third": 60}, asked_at("perturbed"))
        made.nodes["first"]["approval"] = "always"
        yield made


def begin(hospitals: Hospitals, run: int, **changed: object) -> None:
    """Begin a run: join, and answer one question."""
    settings = settings_from({**hospitals.settings.to_config(), **changed})  # type: ignore[dict-item]
    coordinator = FalseCoordinator(hospitals.grid(run, settings), settings, hospitals.classes)
    coordinator.join()
    coordinator.ask(MOMENTS, Nothing())


def state(hospitals: Hospitals, name: str = "first") -> Path:
    return Path(str(hospitals.nodes[name]["state"]))


def asked(hospitals: Hospitals) -> LoggedRun:
    (one,) = read_runs(state(hospitals)).values()
    return one


def approve(hospitals: Hospitals, code: str, name: str = "first") -> None:
    approvals.approve_run(state(hospitals, name), code, str(hospitals.nodes[name]["approval"]))


def asked_first(hospitals: Hospitals) -> float:
    """Ask for a run, which is refused, and return when."""
    with pytest.raises(SettingError):
        begin(hospitals, 1)
    return asked(hospitals).asked


def test_each_run_waits_for_its_approval(hospitals: Hospitals) -> None:
    with pytest.raises(SettingError) as refused:
        begin(hospitals, 1)
    run = asked(hospitals)
    assert run.code in str(refused.value)
    assert (run.system, run.level, run.settings["noise"]) == ("pan-svm", "perturbed", "0.25")
    approve(hospitals, run.code.lower())
    begin(hospitals, 2)
    assert (len(asked(hospitals).approved), len(asked(hospitals).begun)) == (1, 1)
    with pytest.raises(SettingError):
        begin(hospitals, 3)


def test_a_run_that_another_hospital_refuses_uses_up_no_approval(hospitals: Hospitals) -> None:
    hospitals.nodes["second"]["approval"] = "always"
    for number, name in ((1, "first"), (2, "second")):
        with pytest.raises(SettingError):
            begin(hospitals, number)
        approve(hospitals, asked(hospitals).code, name)
    begin(hospitals, 3)


def test_other_settings_are_another_run_but_not_those_of_the_coordinators_side(hospitals: Hospitals) -> None:
    with pytest.raises(SettingError):
        begin(hospitals, 1)
    approve(hospitals, asked(hospitals).code)
    with pytest.raises(SettingError):
        begin(hospitals, 2, landmarks="7")
    begin(hospitals, 3, timeout=99.0)


def test_an_approval_is_of_all_that_was_read_and_not_of_its_short_code(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator can find another run whose code begins alike: 40 bits take it seconds."""

    def alike(text: bytes) -> SimpleNamespace:
        return SimpleNamespace(hexdigest=lambda: "0" * 10 + sha256(text).hexdigest()[10:])

    monkeypatch.setattr("clients.runs.hashlib", SimpleNamespace(sha256=alike))
    for number, changed in enumerate(({}, {"landmarks": "7"}), start=1):
        with pytest.raises(SettingError):
            begin(hospitals, number, **changed)
        if number == 1:
            approve(hospitals, "0000000000")
    with pytest.raises(SettingError, match="2 runs have this code"):
        approve(hospitals, "0000000000")
    with pytest.raises(SettingError, match="nobody has yet"):
        begin(hospitals, 3, landmarks="7")
    begin(hospitals, 4)


def test_runs_that_began_under_another_policy_use_up_no_approval(hospitals: Hospitals) -> None:
    hospitals.nodes["first"]["approval"] = "never"
    for number in (1, 2):
        begin(hospitals, number)
    hospitals.nodes["first"]["approval"] = "always"
    with pytest.raises(SettingError):
        begin(hospitals, 3)
    assert waiting_runs(read_runs(state(hospitals)), "always")
    approve(hospitals, asked(hospitals).code)
    assert not waiting_runs(read_runs(state(hospitals)), "always")
    begin(hospitals, 4)
    with pytest.raises(SettingError):
        begin(hospitals, 5)


def test_the_first_of_a_system_and_level_is_enough_if_the_policy_says_so(hospitals: Hospitals) -> None:
    hospitals.nodes["first"]["approval"] = "first"
    with pytest.raises(SettingError):
        begin(hospitals, 1)
    approve(hospitals, asked(hospitals).code)
    for number in (2, 3):
        begin(hospitals, number, landmarks=str(number + 5))
    with pytest.raises(SettingError):
        begin(hospitals, 4, strategy="svm-admm")


def test_a_run_asks_no_questions_of_another_system_than_the_approved_one(hospitals: Hospitals) -> None:
    """Else a coordinator has one approved and runs another; the policy is of the first hospital."""
    settings = settings_from({**hospitals.settings.to_config(), "strategy": "svm-admm"})
    for number, (approval, task) in enumerate(
        [("first", CLASS_MOMENTS), ("first", MIXTURE_SCORES), ("always", MEANS), ("never", MEANS)]
    ):
        hospitals.nodes["first"]["approval"] = approval
        lying = FalseCoordinator(hospitals.grid(2 * number, settings), settings, 2)
        if approval == "always" or number == 0:
            with pytest.raises(SettingError):
                lying.join()
            approve(hospitals, asked(hospitals).code)
            lying = FalseCoordinator(hospitals.grid(2 * number + 1, settings), settings, 2)
        lying.join()
        lying.ask(MOMENTS, Nothing())
        if approval == "never":
            lying.ask(task, Nothing())
            continue
        with pytest.raises(PanSVMError, match="none such"):
            lying.ask(task, Nothing())


def test_each_system_has_its_files() -> None:
    """Somebody's own has none: each of its runs is approved, also where the first is enough of others."""
    assert set(SYSTEM_FILES) == set(STRATEGIES)
    assert {file for files in SYSTEM_FILES.values() for file in files} == {
        row.system for row in TASKS.values()
    }
    run = LoggedRun("0" * 64, "somebodys-own", "", "dp", {}, 0.0, approved=(1.0,))
    assert not run.allowed("first", {run.digest: run})
    assert replace(run, ready=True).allowed("first", {run.digest: run})


def test_a_month_has_so_many_runs(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    hospitals.nodes["first"].update({"approval": "never", "runs-a-month": 2})
    for number in (1, 2):
        begin(hospitals, number)
    with pytest.raises(SettingError, match="30 days"):
        begin(hospitals, 3)
    later = asked(hospitals).asked + 31 * 24 * 3600
    monkeypatch.setattr("clients.runs.time", SimpleNamespace(time=lambda: later))
    begin(hospitals, 4)


@pytest.mark.parametrize("ahead", [-3600.0, 3600.0, 40 * 24 * 3600.0])
def test_a_clock_that_is_set_changes_no_decision(
    ahead: float, hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ran ahead, or behind, as a run began, and was set right."""
    hospitals.nodes["first"]["runs-a-month"] = 2
    right = asked_first(hospitals)
    monkeypatch.setattr("clients.runs.time", SimpleNamespace(time=lambda: right + ahead))
    approve(hospitals, asked(hospitals).code)
    begin(hospitals, 2)
    assert not waiting_runs(read_runs(state(hospitals)), "always")
    monkeypatch.setattr("clients.runs.time", SimpleNamespace(time=lambda: right + 1))
    with pytest.raises(SettingError, match="not asked for again"):
        approve(hospitals, asked(hospitals).code)
    with pytest.raises(SettingError, match="nobody has yet"):
        begin(hospitals, 3)
    assert waiting_runs(read_runs(state(hospitals)), "always")
    approve(hospitals, asked(hospitals).code)
    begin(hospitals, 4)


def test_a_run_that_began_in_the_future_is_none_of_this_month(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a clock that was once wrong by years stops all runs for years."""
    hospitals.nodes["first"].update({"approval": "never", "runs-a-month": 1})
    with monkeypatch.context() as ahead:
        ahead.setattr("clients.runs.time", SimpleNamespace(time=lambda: 4e9))
        begin(hospitals, 1)
    begin(hospitals, 2)
    with pytest.raises(SettingError, match="30 days"):
        begin(hospitals, 3)


def test_a_run_stays_at_the_level_that_was_approved(hospitals: Hospitals) -> None:
    """Else a coordinator asks to join at `dp`, and then for sums."""
    hospitals.nodes["first"]["privacy"] = "perturbed"
    settings = settings_from({**hospitals.settings.to_config(), "strategy": "dp-svm", "privacy": "auto"})
    lying = FalseCoordinator(hospitals.grid(1, settings), settings, 2)
    with pytest.raises(SettingError):
        lying.join()
    approve(hospitals, asked(hospitals).code)
    assert asked(hospitals).level == "dp"
    lying = FalseCoordinator(hospitals.grid(2, settings), settings, 2)
    lying.join()
    with pytest.raises(SettingError, match="nobody has yet"):
        lying.ask(MOMENTS, Nothing())
    lying.broadcast({SCHEMA: hospitals.schema()})
    ends = np.zeros(len(hospitals.columns)), np.ones(len(hospitals.columns))
    lying.ask(PRIVATE_BINS, BinsQuestion(rho_of(0.1, 1e-5), *ends))
    with pytest.raises(SettingError, match="level dp"):
        lying.ask(MOMENTS, Nothing())


def test_a_run_charges_no_more_than_its_settings_say_if_a_person_has_read_them(hospitals: Hospitals) -> None:
    hospitals.nodes["first"]["epsilon"] = 4.0
    dp = {**hospitals.settings.to_config(), "strategy": "dp-svm", "privacy": "auto", "epsilon": 0.5}
    settings = settings_from(dp)
    ends = np.zeros(len(hospitals.columns)), np.ones(len(hospitals.columns))
    for number, approval in enumerate(("always", "always", "never"), start=1):
        hospitals.nodes["first"]["approval"] = approval
        coordinator = FalseCoordinator(hospitals.grid(number, settings), settings, 2)
        if number == 1:
            with pytest.raises(SettingError):
                coordinator.join()
            run = asked(hospitals)
            assert "epsilon 0.5 for training" in largest_charge(run, pure=False)
            approve(hospitals, run.code)
            continue
        coordinator.join()
        coordinator.broadcast({SCHEMA: hospitals.schema()})
        coordinator.ask(PRIVATE_BINS, BinsQuestion(0.9 * rho_of(0.5, 1e-5), *ends))
        if approval == "always":
            with pytest.raises(BudgetError, match="settings say"):
                coordinator.ask(PRIVATE_BINS, BinsQuestion(0.2 * rho_of(0.5, 1e-5), ends[0], ends[1] + 1))
    coordinator.ask(PRIVATE_BINS, BinsQuestion(0.2 * rho_of(0.5, 1e-5), ends[0], ends[1] + 1))


def test_a_run_that_was_approved_at_another_level_is_charged_for_the_test_of_its_model_only(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator names dp-svm, and joins as if it only tested a model."""
    settings = settings_from({**hospitals.settings.to_config(), "strategy": "dp-svm", "privacy": "auto"})
    config = {**settings.run_config, "test-epsilon": "0.01"}
    monkeypatch.setattr(type(settings), "run_config", config)
    monkeypatch.setattr(
        joining, "JoinQuestion", lambda *known: JoinQuestion(*known[:2], dp=False, tested=True)
    )
    with pytest.raises(SettingError):
        FalseCoordinator(hospitals.grid(1, settings), settings, 2).join()
    assert "epsilon 0.01 for a test of its model" in largest_charge(asked(hospitals), pure=False)
    approve(hospitals, asked(hospitals).code)
    lying = FalseCoordinator(hospitals.grid(2, settings), settings, 2)
    lying.join()
    lying.ask(MOMENTS, Nothing())
    ends = np.zeros(len(hospitals.columns)), np.ones(len(hospitals.columns))
    with pytest.raises(BudgetError, match="settings say"):
        lying.ask(PRIVATE_BINS, BinsQuestion(rho_of(0.1, 1e-5), *ends))


@pytest.mark.parametrize(
    "settings",
    [{"epsilon": "much"}, {"epsilon": "1", "delta": "none"}, {"epsilon": "nan"}, {"epsilon": "1e9"}, {}],
)
@pytest.mark.parametrize("level", ["dp", "perturbed"])
def test_settings_that_cannot_be_promise_nothing(settings: dict[str, str], level: str) -> None:
    said = largest_charge(LoggedRun("0" * 64, "dp-svm", "", level, settings, 0.0), pure=True)
    assert said.startswith("nothing")
    assert ("epsilon and delta count at level dp only" in said) == (level != "dp")


def test_bad_approvals_are_errors(hospitals: Hospitals) -> None:
    with pytest.raises(SettingError):
        approve(hospitals, "NOSUCHRUN1")
    with pytest.raises(SettingError):
        begin(hospitals, 1)
    code = asked(hospitals).code
    approve(hospitals, code)
    with pytest.raises(SettingError):
        approve(hospitals, code)
    file = state(hospitals) / RUNS_FILE
    write_checked(file, {"runs": [{"code": code, "approved": [], "begun": []}]})  # of an earlier version
    with pytest.raises(SettingError):
        begin(hospitals, 4)
    file.write_text(file.read_text()[:-5])
    with pytest.raises(SettingError):
        begin(hospitals, 2)
    hospitals.nodes["first"]["approval"] = "never"
    begin(hospitals, 3)


def test_a_run_that_does_not_wait_cannot_be_approved_in_store(hospitals: Hospitals, pansvm: Run) -> None:
    with pytest.raises(SettingError):
        begin(hospitals, 1)
    code = asked(hospitals).code
    approve(hospitals, code)
    begin(hospitals, 2)
    with pytest.raises(SettingError, match=r"It began on .* start it again first"):
        approve(hospitals, code)
    with pytest.raises(SettingError, match="nobody has yet"):
        begin(hospitals, 3)
    approve(hospitals, code)
    with pytest.raises(SettingError, match="approved already"):
        approve(hospitals, code)
    begin(hospitals, 4)
    hospitals.nodes["first"]["approval"] = "never"
    with pytest.raises(SettingError, match="No run waits"):
        approve(hospitals, code)
    # Of the command, too, before it asks.
    assert "No run waits" in pansvm.error("hospital", "approve", code, "--folder", state(hospitals).parent)
    assert asked(hospitals).ready is False


def test_what_begins_by_itself_as_the_second_of_its_system_need_not_be_approved(
    hospitals: Hospitals,
) -> None:
    with pytest.raises(SettingError):
        begin(hospitals, 1)
    approve(hospitals, asked(hospitals).code)
    begin(hospitals, 2)
    with pytest.raises(SettingError):
        begin(hospitals, 3, landmarks="7")
    other = next(one for one in read_runs(state(hospitals)).values() if not one.begun)
    hospitals.nodes["first"]["approval"] = "first"
    with pytest.raises(SettingError, match="begins by itself"):
        approve(hospitals, other.code)


def test_who_asks_is_named_as_long_as_the_roster_is_that_of_the_run(hospitals: Hospitals) -> None:
    with pytest.raises(SettingError):
        begin(hospitals, 1)
    folder, run = state(hospitals).parent, asked(hospitals)
    said = approvals.who_asks(folder, run)
    assert ADDRESS in said
    assert said.endswith("with first, second, third")
    assert "another roster" in approvals.who_asks(folder, replace(run, study=""))


def test_the_commands_show_and_approve(hospitals: Hospitals, pansvm: Run) -> None:
    folder = state(hospitals).parent
    node = folder / "node.toml"
    node.write_text(f'approval = "always"\n{node.read_text()}')
    with pytest.raises(SettingError):
        begin(hospitals, 1)
    code = asked(hospitals).code
    assert ("approval", WARNING) in [(line.name, line.code) for line in status_of(folder)]
    assert re.search(
        f"^{code} .*pan-svm .*perturbed", pansvm.output("hospital", "runs", "--folder", folder), re.M
    )
    pansvm.error("hospital", "approve", "0123456789", "--folder", folder)
    out = pansvm.output("hospital", "approve", code, "--folder", folder, "--yes")
    assert "noise = 0.25" in out
    assert f"Who asks: the coordinator at {ADDRESS} (invitation 1), with first, second, third." in out
    begin(hospitals, 2)
    assert ("approval", WARNING) not in [(line.name, line.code) for line in status_of(folder)]
    node.write_text(node.read_text().replace('"always"', '"sometimes"'))
    assert "sometimes" in {line.name: line for line in status_of(folder)}["budget"].text


def test_the_log_keeps_what_was_approved_and_the_latest(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clients.runs.MOST_LOGGED", 3)
    with pytest.raises(SettingError):
        begin(hospitals, 1)
    first = asked(hospitals)
    approve(hospitals, first.code)
    for number in range(2, 7):
        with pytest.raises(SettingError):
            begin(hospitals, number, landmarks=str(number + 5))
    kept = read_runs(state(hospitals))
    assert (len(kept), first.digest in kept) == (3, True)
    assert replace(kept[first.digest], asked=0).begun == ()
