"""What a hospital has spent of its budget for differential privacy: a file that outlives runs and coordinators.

The budget itself is the node config's ``epsilon`` and ``delta``. The file belongs to the hospital's table. A person
makes it, once, with ``pansvm budget``; a site never does, so that one which is missing is a spent one, and so is one
which is damaged. It is on the disk before an answer leaves, whole, or as it was before.
"""

import hashlib
import json
import math
import secrets
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from flwr.app import Context

from clients.gate.state_folder import locked, replace_file, state_folder
from clients.gate.terms import budget_terms, site_name
from flower_pansvm.errors import BudgetError
from flower_pansvm.privacy.accountant import admits, epsilon_of, rho_of
from flower_pansvm.tasks.task import Task

FILE, FORMAT = "budget.json", 1
Side = Literal["train", "test"]


@dataclass(frozen=True)
class Charge:
    """What one answer has cost: which run, when, of which task, which rows, and how much (zCDP)."""

    run: str
    time: str
    task: str
    rows: Side
    rho: float


@dataclass(frozen=True)
class Ledger:
    """The content of the file.

    Parameters
    ----------
    test_fraction : float
        Share of the table's rows that is kept for evaluation, in all runs; they have a budget of their own.
    key : str
        Which rows these are follows from it (:mod:`clients.gate.lasting_split`).
    columns : str
        Digest of the table's columns, once it has been used.
    charges : tuple of Charge
        All answers, in order.
    """

    test_fraction: float
    key: str
    columns: str = ""
    charges: tuple[Charge, ...] = ()

    def spent(self, rows: Side, run: str | None = None) -> float:
        """Return what has been spent of the training or the test rows' budget, by one run or by all."""
        return math.fsum(one.rho for one in self.charges if one.rows == rows and run in (None, one.run))


def new_ledger(folder: Path, test_fraction: float) -> None:
    """Begin the budget of a table, in the site's state folder.

    Raises
    ------
    BudgetError
        If there is one.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(folder):
        if (folder / FILE).exists():
            raise BudgetError(
                f"There is a budget in {folder} already. It belongs to the table for good: what was spent stays "
                "spent. For a table of other patients give the SuperNode another state folder."
            )
        _write(folder, Ledger(test_fraction, secrets.token_hex(32)))


def read_ledger(folder: Path) -> Ledger:
    """Return the ledger in a state folder.

    Raises
    ------
    BudgetError
        If it is missing or damaged.
    """
    try:
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if content.pop("sha256") != _digest(content) or content.pop("format") != FORMAT:
            raise ValueError
        charges = tuple(Charge(**charge) for charge in content.pop("charges"))
        return Ledger(**content, charges=charges)
    except FileNotFoundError:
        problem = "has no budget file. If one has been used on this table, put it back: a lost one is a spent one. Else"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        problem = "has a damaged budget file, which counts as spent. Put back the file; on a table that was never used"
    raise BudgetError(
        f"The state folder {problem} begin one, as its operator, with: pansvm budget --new STATE_FOLDER",
        detail=f"The state folder is {folder}.",
    )


def charge(context: Context, task: Task[Any, Any], rho: float) -> None:
    """Write down what an answer costs, before it is made; nothing at a simulated site, which has no patients.

    Raises
    ------
    BudgetError
        If the budget does not allow it, or another run has begun since this one's last answer.
    """
    folder, run = state_folder(context), str(context.run_id)
    if folder is None:
        return
    rows: Side = "test" if task.category == "evaluate" else "train"
    with locked(folder):
        ledger = read_ledger(folder)
        runs = [one.run for one in ledger.charges]
        if run in runs and runs[-1] != run:
            raise BudgetError(
                f"Site '{site_name(context)}' takes part in one run at a time, and run {runs[-1]} has begun since. "
                "Start this run again when that one is over."
            )
        epsilon, delta = budget_terms(context)
        costs = [one.rho for one in ledger.charges if one.rows == rows]
        if not admits(costs, rho, rho_of(epsilon, delta)):
            raise BudgetError(_spent(site_name(context), ledger, rows, epsilon, delta))
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        _write(folder, replace(ledger, charges=(*ledger.charges, Charge(run, now, task.name, rows, rho))))


def settle_columns(folder: Path, digest: str) -> Ledger:
    """Return the ledger after checking that the table has the columns that it had when it was first used.

    Raises
    ------
    BudgetError
        If it has not: which rows are kept for evaluation would change.
    """
    with locked(folder):
        ledger = read_ledger(folder)
        if not ledger.columns:
            _write(folder, ledger := replace(ledger, columns=digest))
    if ledger.columns != digest:
        raise BudgetError(
            "The table does not have the columns that it had when its budget was begun, and rows that were kept for "
            "evaluation would be trained on. Put the columns back."
        )
    return ledger


def _spent(name: str, ledger: Ledger, rows: Side, epsilon: float, delta: float) -> str:
    runs = dict.fromkeys(one.run for one in ledger.charges if one.rows == rows)
    by = ", ".join(f"epsilon {epsilon_of(ledger.spent(rows, run), delta):.3g} by run {run}" for run in runs)
    side = "test" if rows == "test" else "training"
    return (
        f"Site '{name}' does not answer: of its budget for {side} rows, epsilon {epsilon:g} with delta {delta:g}, not "
        f"enough is left. Spent: {by or 'nothing'} (together they cost less than the sum). Start a run with a smaller "
        "epsilon, if that is enough; what is spent does not come back."
    )


def _write(folder: Path, ledger: Ledger) -> None:
    content = {"format": FORMAT, **asdict(ledger)}
    replace_file(folder / FILE, json.dumps({**content, "sha256": _digest(content)}, indent=1))


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
