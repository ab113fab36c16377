"""More than the budget: a ledger that belongs to a folder is as good as new in another folder, or from a backup."""

import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np

from flower_pansvm.errors import PanSVMError
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.tasks.private_training import PRIVATE_BINS, BinsQuestion
from simulations.attack.active.hospitals import COLUMNS, Hospitals
from simulations.attack.active.registry import Attempt, attack
from simulations.attack.active.rounding import DELTA

BUDGET, PEERS = 1.0, 8.0
ALMOST = 1 - 1e-9
TABLES = {"victim": 90, "second": 60, "third": 60}
"""Rows of each hospital."""


@attack(
    "second-folder",
    promise="All runs of all studies together spend at most a table's epsilon.",
    tries="Invites a hospital to a second study, for which somebody there makes a second folder with `init`.",
)
def begin_anew(folder: Path) -> Attempt:
    """Spend the whole budget of one table in two studies."""
    first = Hospitals(folder / "first", TABLES)
    spent = _spend(first, 1)
    # New peers, as the first ones' budgets are spent.
    with suppress(PanSVMError):
        tables = {"victim": TABLES["victim"], "fourth": 60, "fifth": 60}
        second = Hospitals(folder / "second", tables, earlier=first)
        spent += _spend(second, 2)
    return ended(spent)


@attack(
    "old-backup",
    promise="What is spent of a table's epsilon does not come back.",
    tries="Asks again after a hospital has put back an older backup of its state; the others have a larger budget.",
)
def put_back(folder: Path) -> Attempt:
    """Spend the whole budget of one table twice, with a backup from before the first time put back in between."""
    hospitals = Hospitals(folder / "study", TABLES, epsilon={"second": PEERS, "third": PEERS})
    own = [Path(str(hospitals.nodes["victim"]["state"])), hospitals.homes["victim"]]
    for number, kept in enumerate(own):
        kept.mkdir(exist_ok=True)
        shutil.copytree(kept, folder / f"backup-{number}")
    spent = _spend(hospitals, 1)
    for number, kept in enumerate(own):
        shutil.rmtree(kept)
        shutil.copytree(folder / f"backup-{number}", kept)
    return ended(spent + _spend(hospitals, 2))


def _spend(hospitals: Hospitals, run_id: int) -> float:
    """Return the cost of an answer for all of the budget; 0 if a hospital refuses."""
    rho = rho_of(BUDGET, DELTA) * ALMOST
    coordinator = hospitals.coordinator(run_id)
    try:
        coordinator.join()
        coordinator.ask(PRIVATE_BINS, BinsQuestion(rho, np.zeros(len(COLUMNS)), np.ones(len(COLUMNS))))
    except PanSVMError:
        return 0.0
    return rho


def ended(spent: float) -> Attempt:
    """Return how an attack ended by what it has spent; it has not been played if that is nothing."""
    epsilon = epsilon_of(spent, DELTA)
    return Attempt(f"epsilon {epsilon:.3f} of one table", f"{BUDGET:g}", 0 < epsilon <= BUDGET)
