"""``pansvm budget``: begins a hospital's ledger, and shows what is in it."""

from collections.abc import Callable
from pathlib import Path

from flwr.app import Context, RecordDict

from clients.gate.budget import FILE, charge, read_ledger
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.tasks.private_training import PRIVATE_SCORES, PRIVATE_STEP
from strategies.settings import make_settings

Run = Callable[..., tuple[int, str, str]]


def spend(folder: Path, run: int, rho: float) -> None:
    node = {"name": "north", "state": str(folder), "epsilon": 1.0}
    context = Context(run, 7, dict(node), RecordDict(), make_settings().to_config())
    charge(context, PRIVATE_STEP, rho)
    charge(context, PRIVATE_SCORES, rho / 2)


def test_begun_spent_and_shown(pansvm: Run, tmp_path: Path) -> None:
    folder = tmp_path / "state of north"
    code, out, err = pansvm("budget", "--new", str(folder), "--test-fraction", "0.3")
    assert (code, err) == (0, "")
    assert "30% of the rows" in out
    assert read_ledger(folder).test_fraction == 0.3
    spend(folder, 11, rho_of(0.5, 1e-5))
    spend(folder, 12, rho_of(0.2, 1e-5))
    code, out, err = pansvm("budget", str(folder))
    assert (code, err) == (0, "")
    lines = {line.split()[0]: line.split()[-2:] for line in out.splitlines()}
    assert lines["11"] == ["0.5000", f"{epsilon_of(rho_of(0.5, 1e-5) / 2, 1e-5):.4f}"]
    assert lines["12"][0] == "0.2000"
    spent, left = (float(lines[name][0]) for name in ("spent", "left"))
    assert 0.5 < spent < 0.7
    assert rho_of(spent, 1e-5) + rho_of(left, 1e-5) <= rho_of(1.0, 1e-5) * 1.01


def test_what_is_spent_is_not_begun_anew(pansvm: Run, tmp_path: Path) -> None:
    pansvm("budget", "--new", str(tmp_path / "state"))
    code, _, err = pansvm("budget", "--new", str(tmp_path / "state"))
    assert code == 1
    assert "stays spent" in err


def test_a_damaged_ledger_is_told_without_a_traceback(pansvm: Run, tmp_path: Path) -> None:
    pansvm("budget", "--new", str(tmp_path / "state"))
    (tmp_path / "state" / FILE).write_text("{")
    code, _, err = pansvm("budget", str(tmp_path / "state"))
    assert code == 1
    assert err.startswith("Error: The state folder has a damaged budget file")
    assert str(tmp_path / "state") in err
