"""Overspent budgets: a ledger of a folder would be unspent in another folder, or after restoring a backup."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from clients.table.table import LABEL
from flower_pansvm.errors import BudgetError
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.systems.dp_svm import PRIVATE_BINS, BinsQuestion
from simulations.attack.active.hospitals import COLUMNS, Hospitals, drawn_table
from simulations.attack.active.registry import Attempt, refusal
from simulations.attack.active.rounding import DELTA

BUDGET, PEERS = 1.0, 8.0
ALMOST = 1 - 1e-9
TABLES = {"victim": 90, "second": 60, "third": 60}
OTHER_TABLES = {"victim": 90, "fourth": 60, "fifth": 60}
"""Rows of each hospital in a first study, and in a second one."""


def begin_anew(folder: Path) -> Attempt:
    """Spend the whole budget of one table in each of two studies."""
    first = Hospitals(folder / "first", TABLES)
    spent = spend(first, 1)
    return spend_again(spent, lambda: spend(Hospitals(folder / "second", OTHER_TABLES, earlier=first), 2))


def export_again(folder: Path) -> Attempt:
    """Spend the whole budget of the same patients in each of two studies."""
    first = Hospitals(folder / "first", TABLES)
    spent = spend(first, 1)
    table = str(first.nodes["victim"]["data"])
    pd.read_csv(table).sample(frac=0.9, random_state=0).to_csv(table, index=False)
    return spend_again(spent, lambda: spend(Hospitals(folder / "second", OTHER_TABLES, earlier=first), 2))


def choose_other_columns(folder: Path) -> Attempt:
    """Spend the whole budget of one table in each of two studies without a common column."""
    whole = drawn_table(TABLES["victim"], "victim")

    def study(
        name: str, rows: Mapping[str, int], columns: Sequence[str], earlier: Hospitals | None
    ) -> Hospitals:
        exported = whole.assign(x0=whole["x0"] + 0.01 * (earlier is not None), exported=2026 + len(name))
        tables = {site: drawn_table(count, site)[[*columns, LABEL]] for site, count in rows.items()}
        hospitals = Hospitals(folder / name, tables, earlier=earlier)
        exported.to_csv(str(hospitals.nodes["victim"]["data"]), index=False)
        return hospitals

    first = study("first", TABLES, COLUMNS[:6], None)
    spent = spend(first, 1)
    return spend_again(spent, lambda: spend(study("second", OTHER_TABLES, COLUMNS[6:], first), 2))


def put_back(folder: Path) -> Attempt:
    """Spend the whole budget of one table twice, with an older backup restored in between."""
    hospitals = Hospitals(folder / "study", TABLES, epsilon={"second": PEERS, "third": PEERS})
    state_folders = [Path(str(hospitals.nodes["victim"]["state"])), hospitals.homes["victim"]]
    for index, path in enumerate(state_folders):
        path.mkdir(exist_ok=True)
        shutil.copytree(path, folder / f"backup-{index}")
    spent = spend(hospitals, 1)
    for index, path in enumerate(state_folders):
        shutil.rmtree(path)
        shutil.copytree(folder / f"backup-{index}", path)
    return spend_again(spent, lambda: spend(hospitals, 2))


def spend(hospitals: Hospitals, run_id: int) -> float:
    """Request an answer for all of the budget, and return its cost; BudgetError if a hospital refuses it."""
    rho = rho_of(BUDGET, DELTA) * ALMOST
    coordinator = hospitals.coordinator(run_id)
    coordinator.join()
    coordinator.ask(
        PRIVATE_BINS, BinsQuestion(rho, np.zeros(len(hospitals.columns)), np.ones(len(hospitals.columns)))
    )
    return rho


def spend_again(spent: float, again: Callable[[], float]) -> Attempt:
    """Spend once more, and return the outcome: the cost of both for one table."""
    why = ""
    try:
        spent += again()
    except BudgetError as error:
        why = f"; {refusal(error)}"
    epsilon = epsilon_of(spent, DELTA)
    return Attempt(f"epsilon {epsilon:.3f} of one table{why}", f"epsilon {BUDGET:g}", epsilon <= BUDGET)
