"""A table's ledger, which outlives runs and coordinators: its key, its copy's deviations, and what was spent of dp.

From the key follow the sides of its records (:mod:`clients.ledger.lasting_split`) and their copies at level `perturbed`
(:mod:`clients.perturb`); the budget itself is the node config's ``epsilon`` and ``delta``. The ledger belongs to the
hospital's table, whose rows find it in the account's place for ledgers (:mod:`clients.ledger.tables`): all state
folders and studies with the same table share it. A person lets it begin, in a state folder, with ``pansvm hospital
init`` or ``pansvm budget``. A site never does: one that is missing or damaged is a spent one, and a second key would
give each record a second copy. It is on the disk before an answer leaves, whole, or as it was.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from clients.hospital import Hospital
from clients.ledger.home import read_own, tables_home, write_own
from clients.state_folder import locked_state, read_checked, state_folder
from flower_pansvm import records
from flower_pansvm.errors import BudgetError
from flower_pansvm.privacy.accountant import admits, epsilon_of, rho_of
from flower_pansvm.tasks import Task

LEDGER_FILE, LINK_FILE = "budget.json", "table.json"
EPOCH = "epoch"  # group of a site's state: the run's mark in the ledger, see :mod:`clients.ledger.epochs`
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
class Ended:
    """What was spent when a person has ended the table's budget and begun a new one; NaN if nobody knows."""

    time: str
    train: float
    test: float


@dataclass(frozen=True)
class Ledger:
    """The content of the file."""

    # Share of the table's rows that is kept for evaluation, in all runs; they have a budget of their own.
    test_fraction: float
    key: str = field(repr=False)  # which rows these are follows from it, and the copy of each record
    # Those that the table had first, and how their cells were read; a record is told by its cells there.
    columns: dict[str, str] = field(default_factory=dict)
    by_ids: bool = False  # whether it is told by its id instead
    by_patients: bool = False  # whether its side of the split is its patient's
    patient_id: str = ""  # by this column; an older ledger takes the next one's
    joined: bool = False  # whether a run was joined with these: before that, nothing follows from them
    # What is settled of the copy at level `perturbed` (:mod:`clients.perturb.kept`).
    copy: dict[str, Any] = field(default_factory=dict)
    copies_ended: tuple[str, ...] = ()  # when a person has ended a copy: the next one has another key
    charges: tuple[Charge, ...] = ()  # all answers, in order
    epochs: tuple[str, ...] = ()  # marks of the runs that it knows of
    missed: tuple[str, ...] = ()  # marks of those that only other hospitals know of: then it is an old copy
    ended: tuple[Ended, ...] = ()  # what was spent before

    @property
    def copies(self) -> int:
        """How many copies have begun."""
        return len(self.copies_ended) + bool(self.copy)

    def spent(self, rows: Side, run: str | None = None) -> float:
        """Return the spent part of the training or the test rows' budget, by one run or by all."""
        return math.fsum(c.rho for c in self.charges if c.rows == rows and run in (None, c.run))


@dataclass(frozen=True)
class Link:
    """What a state folder has of a ledger: the name of the ledger's folder, empty until the table is first used."""

    test_fraction: float
    table: str = ""
    version: str = ""  # of the table, by whose whole file the ledger is found; an older folder has none
    copies: int = 0  # that this folder has seen begin; a ledger that knows of fewer is an older one


def read_ledger(folder: Path) -> Ledger:
    """Return the ledger of a state folder, an empty one before its table was used.

    Raises
    ------
    BudgetError
        If it is missing or damaged.
    """
    link = read_link(folder)
    return ledger_in(tables_home() / link.table) if link.table else Ledger(link.test_fraction, "")


def linked_ledger(folder: Path) -> Ledger:
    """Return the ledger of a state folder whose table was looked at; BudgetError if it was not, or as above."""
    ledger = read_ledger(folder)
    if not ledger.key:
        raise BudgetError(NOT_LINKED)
    return ledger


def change_ledger(folder: Path, change: Callable[[Ledger], Ledger]) -> Ledger:
    """Change the ledger of a state folder while no other process can, and return it; BudgetError if it is spent."""
    link = read_link(folder)
    if not link.table:
        raise BudgetError(NOT_LINKED)
    with locked_state(home := tables_home()):
        before = ledger_in(table_folder := home / link.table)
        if before.missed:
            raise BudgetError(BEHIND)
        ledger = change(before)
        if ledger != before:
            write_ledger(table_folder, ledger)
    return ledger


def charge(hospital: Hospital, task: Task[Any, Any], rho: float) -> None:
    """Write down what an answer costs, before it is made; nothing at a simulated site, which has no patients.

    Raises
    ------
    BudgetError
        If the budget does not allow it, or another run has begun since this one was joined.
    """
    if hospital.simulated:
        return
    run = str(hospital.run_id)
    rows: Side = "test" if task.category == "evaluate" else "train"

    def charged(ledger: Ledger) -> Ledger:
        check_joined(hospital, ledger)
        policy = hospital.policy
        epsilon, delta = policy.epsilon, policy.delta
        costs = [c.rho for c in ledger.charges if c.rows == rows]
        if not admits(costs, rho, rho_of(epsilon, delta)):
            raise _budget_refusal(hospital.name, ledger, rows, epsilon, delta)
        return replace(ledger, charges=(*ledger.charges, Charge(run, now(), task.name, rows, rho)))

    change_ledger(state_folder(hospital), charged)


def check_joined(hospital: Hospital, ledger: Ledger) -> None:
    """Check that the site has joined this run with this ledger, and no other run since; else BudgetError.

    Hospitals that answered in a run which they joined long ago could not tell that another one's ledger is older.
    """
    if ledger.epochs[-1:] != (records.get(hospital.state, EPOCH).get(EPOCH),):
        raise BudgetError(
            f"Site '{hospital.name}' takes part in one private run at a time, and has not joined this one with "
            "the ledger that it has now: another run has begun since, the ledger was exchanged, or the run was not to "
            "be private. Start a new run. If each run ends so, another hospital of this account has the same "
            "ledger, as tables count as one that have the same rows, or the same column of numbers of which each row "
            "has another: give each hospital an account of its own."
        )


NOT_LINKED = "This site's table was not looked at when it joined the run. Start a new run."
BEHIND = (
    "This site's ledger is behind: another hospital, or its own folder, knows of a run that the ledger does not. It is "
    "an older copy, or another machine uses a copy, so it counts as spent. Put back the latest one, with all of "
    "pansvm/tables. If it is lost, its operator can end this table's budget: pansvm budget --help"
)


def _budget_refusal(name: str, ledger: Ledger, rows: Side, epsilon: float, delta: float) -> BudgetError:
    """Return the refusal; which runs have spent the budget is for the hospital's own log, as they may be others'."""
    runs = dict.fromkeys(c.run for c in ledger.charges if c.rows == rows)
    by = ", ".join(f"epsilon {epsilon_of(ledger.spent(rows, run), delta):.3g} by run {run}" for run in runs)
    side = "test" if rows == "test" else "training"
    return BudgetError(
        f"Site '{name}' does not answer: of its budget for {side} rows, epsilon {epsilon:g} with delta {delta:g}, not "
        "enough is left. Start a run with a smaller epsilon, if that is enough; what is spent does not come back.",
        detail=f"Spent: {by or 'nothing'} (together they cost less than the sum).",
    )


def read_link(folder: Path) -> Link:
    """Return what a state folder has of a ledger; BudgetError if nothing."""
    try:
        return Link(**read_checked(folder / LINK_FILE))
    except (FileNotFoundError, NotADirectoryError):
        problem = "belongs to no table's ledger"
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    except (ValueError, TypeError):
        problem = f"has a damaged file '{LINK_FILE}', to be deleted"
    raise BudgetError(
        f"The state folder {problem}. Its operator begins one with: pansvm budget --new STATE_FOLDER. A table that has "
        "a ledger goes on with what is left there, and with its perturbed copy.",
        detail=f"The state folder is {folder}.",
    )


def ledger_in(folder: Path) -> Ledger:
    """Return the ledger in a folder of the account's place for them; BudgetError if it is missing or damaged."""
    try:
        content = read_own(folder / LEDGER_FILE)
        content["charges"] = tuple(Charge(**fields) for fields in content["charges"])
        content["ended"] = tuple(Ended(**fields) for fields in content["ended"])
        lists = {key: tuple(content[key]) for key in ("epochs", "missed")}
        lists["copies_ended"] = tuple(content.get("copies_ended", ()))
        return Ledger(**{**content, **lists})
    except FileNotFoundError:
        problem = "missing"
    except OSError as error:
        problem = f"not to be read ({error.strerror})"
    except (ValueError, KeyError, TypeError):
        problem = "damaged, or another table's"
    raise BudgetError(
        f"The ledger of this site's table is {problem}, so it counts as spent. Start the SuperNode in the account that "
        "has it, with the same HOME and XDG_STATE_HOME. If it is lost, put it back from a backup, with all of "
        "pansvm/tables; or its operator can begin a second budget and perturbed copy: pansvm budget --help",
        detail=f"It was {folder / LEDGER_FILE}.",
    )


def write_ledger(folder: Path, ledger: Ledger) -> None:
    """Replace the ledger in a folder."""
    write_own(folder / LEDGER_FILE, vars(ledger))


def now() -> str:
    """Return the time, in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
