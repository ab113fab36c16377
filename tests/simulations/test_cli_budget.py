"""``pansvm budget``: begins a hospital's ledger, and shows what is in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clients import budget
from clients.ledger.ledger import EPOCH, LINK_FILE, charge, read_ledger
from clients.ledger.tables import link_table
from flower_pansvm import records
from flower_pansvm.errors import BudgetError
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.systems.dp_svm import PRIVATE_SCORES, PRIVATE_STEP
from tests.clients.gate.test_budget import a_table, begin
from tests.command_line import Run
from tests.contexts import own_hospital


def spend(folder: Path, run: int, rho: float) -> None:
    node = {"name": "north", "state": str(folder), "epsilon": 1.0}
    hospital = own_hospital(node, run)
    records.put(hospital.state, EPOCH, {EPOCH: "e0"})
    charge(hospital, PRIVATE_STEP, rho)
    charge(hospital, PRIVATE_SCORES, rho / 2)


def test_begun_spent_and_shown(pansvm: Run, tmp_path: Path) -> None:
    folder = tmp_path / "state of north"
    out = pansvm.output("budget", "--new", str(folder), "--test-fraction", "0.3")
    assert "30% of the rows" in out
    assert read_ledger(folder).test_fraction == 0.3
    assert "left" in pansvm("budget", str(folder))[1]  # before the table is used
    begin(folder, a_table(), 0.3)
    spend(folder, 11, rho_of(0.5, 1e-5))
    spend(folder, 12, rho_of(0.2, 1e-5))
    out = pansvm.output("budget", str(folder))
    lines = {line.split()[0]: line.split()[-2:] for line in out.splitlines()}
    assert lines["11"] == ["0.5000", f"{epsilon_of(rho_of(0.5, 1e-5) / 2, 1e-5):.4f}"]
    assert lines["12"][0] == "0.2000"
    spent, left = (float(lines[name][0]) for name in ("spent", "left"))
    assert 0.5 < spent < 0.7
    assert rho_of(spent, 1e-5) + rho_of(left, 1e-5) <= rho_of(1.0, 1e-5) * 1.01


@pytest.mark.slow
def test_a_hospital_starts_it_from_its_own_part(tmp_path: Path) -> None:
    """Without the rooms that it does not audit."""
    code = (
        "import runpy, sys\n"
        "for name in ('simulations', 'strategies'): sys.modules[name] = None\n"
        "runpy.run_module('clients.budget', run_name='__main__')\n"
    )

    def run(folder: Path, *more: str) -> "subprocess.CompletedProcess[str]":
        command, root = [sys.executable, "-c", code, str(folder), *more], Path(__file__).parents[2]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    assert "A ledger begins in" in run(tmp_path / "state", "--new").stdout
    assert "left" in run(tmp_path / "state").stdout
    (tmp_path / "state" / LINK_FILE).unlink()
    (tmp_path / "file").touch()
    for again, said in (
        (run(tmp_path / "state"), "The state folder belongs to no table's ledger"),
        (run(tmp_path / "file" / "state", "--new"), "[Errno 20]"),
    ):
        assert again.returncode == 1
        assert again.stderr.startswith(f"Error: {said}")


def test_numbers_that_cannot_be_are_refused(pansvm: Run, tmp_path: Path) -> None:
    for wrong in (["--test-fraction", "1"], ["--epsilon", "0"], ["--delta", "1"], ["--epsilon", "much"]):
        code, _, err = pansvm("budget", "--new", str(tmp_path / "state"), *wrong)
        assert code == 2
        assert wrong[0] in err
    assert not (tmp_path / "state").exists()


def test_what_is_spent_is_not_begun_anew(pansvm: Run, tmp_path: Path) -> None:
    begin(tmp_path / "state", a_table())
    err = pansvm.error("budget", "--new", str(tmp_path / "state"))
    assert "stays spent" in err


def test_a_budget_is_ended_by_a_person_who_is_told_what_that_means(pansvm: Run, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    begin(folder, a_table())
    spend(folder, 11, rho_of(0.5, 1e-5))
    assert "add up for every patient in both" in " ".join(pansvm("budget", "--help")[1].split())
    out = pansvm.output("budget", "--end", str(folder))
    assert "add up for every patient in both" in out
    _, out, _ = pansvm("budget", str(folder))
    assert "spent of it, to be added: 0.5000 and" in out
    lines = {line.split()[0]: line.split()[-2:] for line in out.splitlines()}
    assert lines["spent"] == ["0.0000", "0.0000"]
    assert pansvm("budget", "--new", "--end", str(folder))[0] == 2


def test_a_folder_that_wants_another_share_for_evaluation_begins_again_as_it_is_told(
    pansvm: Run, tmp_path: Path
) -> None:
    begin(tmp_path / "state", a_table())
    pansvm("budget", "--new", str(tmp_path / "second"), "--test-fraction", "0.3")
    with pytest.raises(BudgetError, match="--new"):
        link_table(tmp_path / "second", a_table())
    pansvm("budget", "--new", str(tmp_path / "second"), "--test-fraction", "0.2")
    assert link_table(tmp_path / "second", a_table()) == read_ledger(tmp_path / "state")


@pytest.mark.parametrize("decision", [(), ("--new",), ("--end",), ("--end-copy",)])
def test_another_account_decides_nothing_and_is_told_so(
    decision: tuple[str, ...], pansvm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root's own state has no such ledger: it would seem lost, and be ended as such."""
    folder = tmp_path / "state"
    begin(folder, a_table(), 0.3)
    before = {file: file.read_bytes() for file in folder.iterdir()}
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    assert "sudo -H -u" in pansvm.error("budget", *decision, str(folder))
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


def test_a_damaged_ledger_is_told_without_a_traceback(pansvm: Run, tmp_path: Path) -> None:
    pansvm("budget", "--new", str(tmp_path / "state"))
    (tmp_path / "state" / LINK_FILE).write_text("{")
    err = pansvm.error("budget", str(tmp_path / "state"))
    assert err.startswith("Error: The state folder has a damaged file")
    assert str(tmp_path / "state") in err
    for folder in ("nowhere", f"state/{LINK_FILE}"):
        err = pansvm.error("budget", folder)
        assert err.startswith("Error: The state folder belongs to no table's ledger")


def test_a_hospitals_folder_is_not_taken_for_its_state_folder_and_gets_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "node.toml").touch()
    for option in ((), ("--new",), ("--end",), ("--end-copy",)):
        with pytest.raises(BudgetError):
            budget.main([*option, str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["node.toml"]
