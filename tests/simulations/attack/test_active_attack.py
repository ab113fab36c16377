"""The active attacker: no promise breaks, and each attack notices where one would."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, RecordDict
from typer.testing import CliRunner

from clients.perturb import draws, kept, rules, settling, shares
from clients.perturb.marks import Words
from clients.site import Site
from clients.systems.dp_svm import private_step
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.cli import cli
from flower_pansvm.errors import BudgetError, PanSVMError
from flower_pansvm.privacy.accountant import rho_of
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.systems.dp_svm import PRIVATE_STEP, PrivateStepAnswer, PrivateWeightsQuestion
from simulations.attack.active import (
    budget,
    changed_tables,
    chosen_moments,
    chosen_weights,
    lost_site,
    memory,
    months,
    registry,
    rounding,
    run_series,
    schema_files,
    thresholds,
)
from simulations.attack.active.hospitals import Hospitals, OwnAccounts
from simulations.attack.active.nearness import all_trained, asked_at, attempt
from simulations.attack.active.registry import ATTACKS, Attempt, play

MINUTES = {
    **{"rounding": 0, "rounding-moments": 0, "rounding-scores": 1, "rounding-local": 0, "memory": 1},
    **{"chosen-moments": 0, "chosen-weights": 0, "months": 0, "threshold": 0},
}
"""Of the attacks that take longer than a test may."""

ALL = [
    pytest.param(name, marks=pytest.mark.slow(minutes=MINUTES[name]) if name in MINUTES else ())
    for name in ATTACKS
]


@pytest.mark.parametrize("name", ALL)
def test_the_promise_holds(name: str) -> None:
    ended = play(ATTACKS[name])
    assert ended.held, f"{ended.got}; allowed: {ended.allowed}"


@pytest.mark.parametrize(("held", "code", "word"), [(True, 0, "held"), (False, 1, "BROKEN")])
def test_the_command_ends_with_1_if_a_promise_is_broken(
    held: bool, code: int, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[Path] = []

    def played(folder: Path) -> Attempt:
        folders.append(folder)
        folder.mkdir()
        return Attempt("what it got", "what is allowed", held)

    monkeypatch.setattr(lost_site, "play", played)
    made_up = replace(registry.ATTACKS["lost-site"], promise="A promise.")
    monkeypatch.setattr(registry, "ATTACKS", {"made-up": made_up})
    found = CliRunner().invoke(cli, ["attack"])
    assert found.exit_code == code
    assert "made-up" in found.output
    assert word in found.output
    assert not folders[0].exists()


def test_an_attack_that_does_not_exist_is_named() -> None:
    found = CliRunner().invoke(cli, ["attack", "memorry"])
    assert found.exit_code != 0
    assert "'memory'" in str(found.exception)


# Each attack notices a fault: else it would find nothing whatever hospitals do.


def of_the_number_of_rows(site: Site, question: PrivateWeightsQuestion) -> PrivateStepAnswer:
    """Answer with a slope to which every row adds 2 if the number of rows is even."""
    exact = private_step(site, question)
    rows = len(site.table().X)
    return PrivateStepAnswer(exact.slope + 2.0 * rows * (rows % 2 == 0))


def by_a_few_questions(choices: Callable[[int], Any]) -> Callable[[int], Any]:
    return lambda rows: (choice for choice, _ in zip(choices(rows), range(3), strict=False))


@pytest.mark.parametrize(("work", "held"), [(private_step, True), (of_the_number_of_rows, False)])
def test_a_part_that_depends_on_other_rows_is_noticed(
    work: Callable[..., Any], held: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first three questions have small weights, with which an honest answer is exact."""
    monkeypatch.setattr(rounding, "CLASSES_SENT", ((2, 2),))
    monkeypatch.setattr(rounding, "ROWS", (3, 7, 11))
    few = by_a_few_questions(rounding.fourier_choices)
    found = rounding.search(tmp_path / "study", PRIVATE_STEP, work, few)
    assert found.held == held
    answered = re.search(r"(\d+) questions answered", found.got)
    assert answered is not None
    assert int(answered[1]) >= 3


def test_an_attack_whose_questions_are_all_refused_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounding, "ROWS", (3, 7, 11))
    no_weights = rounding.ChosenQuestion(
        next(iter(rounding.fourier_choices(11))).broadcasts, PrivateWeightsQuestion(1.0, np.zeros((1, 1)))
    )
    with pytest.raises(PanSVMError, match="questions"):
        rounding.search(tmp_path / "study", PRIVATE_STEP, private_step, lambda _: iter([no_weights]))


def test_memory_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SIZES", (200,))
    monkeypatch.setattr(memory, "ROWS", (20, 40, 60))
    assert memory.play(tmp_path / "few").held
    monkeypatch.setattr(memory, "MOST_BYTES", 1000)
    assert not memory.play(tmp_path / "many").held


def test_a_key_in_flowers_state_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = RecordDict({"kept": ConfigRecord({"key": bytes(range(32))})})
    monkeypatch.setattr(OwnAccounts, "states", lambda _: [state])
    ended = run_series.play(tmp_path / "study")
    assert not ended.held
    assert "kept/key" in ended.got


def test_more_than_the_budget_is_noticed() -> None:
    rho = rho_of(budget.BUDGET, 1e-5)

    def refuse() -> float:
        raise BudgetError("Spent. Find more.")

    assert budget.spend_again(rho, refuse).held
    assert not budget.spend_again(rho, lambda: 0.1 * rho).held


def test_a_hospital_without_its_pin_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unpinned(Hospitals):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            for node in self.nodes.values():
                node |= {"min-sites": 3}

    monkeypatch.setattr(lost_site, "Hospitals", Unpinned)
    assert not lost_site.play(tmp_path / "study").held


def test_a_schema_file_that_tells_something_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clients.perturb.settling._reading_text", lambda *_: "")
    with registry.own_account(tmp_path):
        assert not schema_files.play(tmp_path / "study").held


def by_id_and_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let copies hang on id and column, and not on the cell, and let nobody look whether the table is as before."""
    real = draws.drawn

    def drawn(cells: Floats, bits: Words, *more: Any) -> tuple[Ints, Floats]:
        return real(cells, np.zeros_like(bits), *more)

    monkeypatch.setattr(draws, "drawn", drawn)
    for module in (settling, shares):
        monkeypatch.setattr(module, "drawn", drawn)
    for rule in ("records_stay", "columns_stay", "few_came_back", "no_second_source"):
        monkeypatch.setattr(rules, f"check_{rule}", lambda *_: None)
    for check in ("_check_ids", "_check_deviations"):
        monkeypatch.setattr(settling, check, lambda *_: None)
    monkeypatch.setattr(settling, "labels_moved", lambda *_: False)
    monkeypatch.setattr(settling, "same_labels", lambda *_: False)


@pytest.mark.parametrize(
    "which",
    [
        changed_tables.change_unit,
        changed_tables.move_ids,
        changed_tables.merge_sources,
        changed_tables.rename_label,
        changed_tables.grow_pilot,
    ],
    ids=lambda one: one.__name__,
)
def test_a_copy_by_id_and_column_is_noticed(
    which: Callable[[Path], Attempt], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the same attacks hold without this fault, `test_the_promise_holds` has seen."""
    by_id_and_column(monkeypatch)
    with registry.own_account(tmp_path):
        assert not which(tmp_path / "study").held


@pytest.mark.slow
def test_a_threshold_without_noise_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "discrete_laplace", lambda _, size, __: np.zeros(size, dtype=np.int64))
    with registry.own_account(tmp_path):
        ended = thresholds.play(tmp_path / "study")
    assert not ended.held


@pytest.mark.slow(minutes=1)
@pytest.mark.parametrize(
    ("which", "got"),
    [
        # How many depends on the ledgers' keys: on which records are trained on.
        (chosen_weights, r"\b([6-9]\d|1[0-3]\d) of 360 records"),
        (months, "36 of 36 records"),
        (chosen_moments, "100 of 100 records"),
    ],
)
def test_attacks_on_records_read_them_at_level_exact(which: Any, got: str, tmp_path: Path) -> None:
    with registry.own_account(tmp_path):
        ended = which.play(tmp_path / "study", "exact")
    assert re.search(got, ended.got)
    assert not ended.held


@pytest.fixture
def hospitals(tmp_path: Path) -> Iterator[Hospitals]:
    """Return hospitals that agree to level perturbed."""
    with registry.own_account(tmp_path):
        yield Hospitals(tmp_path / "study", {"first": 60, "second": 60, "third": 60}, asked_at("perturbed"))


def test_all_copies_that_are_trained_on_count_as_attacked_in_whatever_order_systems_see_them(
    hospitals: Hospitals,
) -> None:
    told = {SCHEMA: hospitals.schema()}
    for name, one in zip(hospitals.nodes, hospitals.records(), strict=True):
        X = hospitals.exact(name, told, lambda site, _: site.train().X, None)
        np.testing.assert_array_equal(np.sort(one.seen[one.trained], axis=0), np.sort(X, axis=0))


def test_guesses_that_are_nearer_than_the_copies_break_the_promise(hospitals: Hospitals) -> None:
    sites = all_trained(hospitals.records())
    copies, true = (np.vstack([getattr(one, part) for one in sites]) for part in ("seen", "true"))
    assert attempt("perturbed", sites, copies).held
    assert not attempt("perturbed", sites, copies + 0.2 * (true - copies)).held


def test_a_hospital_whose_policy_is_dp_refuses_the_runs_of_these_attacks(hospitals: Hospitals) -> None:
    hospitals.nodes["second"]["privacy"] = "dp"
    with pytest.raises(PanSVMError, match="second"):
        hospitals.coordinator().join()
