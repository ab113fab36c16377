"""``python -m clients.budget``, or ``pansvm budget``: begins a table's ledger, ends it, and shows what was spent of it.

It is part of what a hospital audits, and needs no package that the hospital does not have.
"""

import argparse
import math
import secrets
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from clients.ledger.home import tables_home
from clients.ledger.ledger import (
    LEDGER_FILE,
    LINK_FILE,
    Ended,
    Ledger,
    Link,
    Side,
    change_ledger,
    ledger_in,
    now,
    read_ledger,
    read_link,
    write_ledger,
)
from clients.node.node_config import NODE_FILE
from clients.state_folder import locked_state, write_checked
from flower_pansvm.errors import BudgetError, PanSVMError
from flower_pansvm.privacy.accountant import epsilon_of, rho_of
from flower_pansvm.private_folder import is_private, make_private

END = (
    "end this table's budget and begin a new one. The epsilon spent so far and what will be spent anew add up for "
    "every patient in both: with 1 each, 2 in all. Only the hospital can decide that. It is also what to do if a "
    "ledger is lost or behind and there is no backup. Of a table whose ledger is lost, level perturbed then shows a "
    "second copy, and the mean of both copies is nearer to each record"
)

END_COPY = (
    "end the table's copy of level perturbed; the next run at that level begins another, by the table as it then is. "
    "Whoever has seen both copies averages them: of the noise 0.71 is left, 0.58 with a third copy, and a code that is "
    "the same in both is most likely true. What is settled of deviations and codes is settled anew. Only the hospital "
    "can decide that, for a table that cannot be put back as it was: a column converted for good, new row ids, a "
    "ledger of another version. Converting the column back costs nothing"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command.

    Raises
    ------
    BudgetError
        If there is no ledger, it is damaged, or one has been begun already; or the folder is another account's.
    """
    parser = argparse.ArgumentParser(
        prog="pansvm budget",
        description="Show what was spent by which run, and what is left; or begin a budget, or end it.",
    )
    parser.add_argument("folder", type=Path, help="the hospital's state folder: 'state' in its node config")
    decision = parser.add_mutually_exclusive_group()
    decision.add_argument(
        "--new",
        action="store_true",
        help="begin a ledger from this folder; a table that has one from another folder keeps that",
    )
    decision.add_argument("--end", action="store_true", help=END)
    decision.add_argument("--end-copy", action="store_true", help=END_COPY)
    parser.add_argument(
        "--test-fraction",
        type=float,
        default=0.2,
        help="with --new: share of the rows kept for evaluation (0.2)",
    )
    parser.add_argument("--epsilon", type=float, default=1.0, help="as in the node config (1.0)")
    parser.add_argument("--delta", type=float, default=1e-5, help="as in the node config (1e-5)")
    options = parser.parse_args(arguments)
    if not (0 <= options.test_fraction < 1 and options.epsilon > 0 and 0 < options.delta < 1):
        parser.error(
            "--test-fraction has to be from 0 to below 1, --epsilon above 0, --delta between 0 and 1"
        )
    # In another account, each ledger would seem lost.
    if options.folder.is_dir() and not is_private(options.folder):
        raise BudgetError(
            "The state folder is another account's, or open to others. Run this command in the account of the "
            "SuperNode (sudo -H -u ACCOUNT), and close the folder (chmod 700)."
        )
    if (options.folder / NODE_FILE).exists():
        raise BudgetError(
            f"{options.folder} is a hospital's folder, and not its state folder, which 'state' in its {NODE_FILE} "
            f"names: usually {options.folder / 'state'}."
        )
    if options.new:
        new_ledger(options.folder, options.test_fraction)
        text = _begun_text(options.folder, options.test_fraction)
    elif options.end:
        end_ledger(options.folder)
        text = (
            "This table's budget is ended and a new one begins. Write down who decided that: what was spent before and "
            "what will be spent add up for every patient in both."
        )
    elif options.end_copy:
        end_copy(options.folder)
        text = (
            "The table's perturbed copy is ended. Write down who decided that: the mean of the old and the next copy "
            "has 0.71 of the noise."
        )
    else:
        text = _ledger_text(read_ledger(options.folder), options.epsilon, options.delta)
    sys.stdout.write(f"{text}\n")


def new_ledger(folder: Path, test_fraction: float) -> None:
    """Let a ledger begin from a state folder: one is made for its table, unless it has one from another folder.

    Raises
    ------
    BudgetError
        If the folder belongs to a ledger already.
    """
    make_private(folder)
    with locked_state(folder):
        if (folder / LINK_FILE).exists() and read_link(folder).table:
            raise BudgetError(
                f"There is a ledger in {folder} already. It belongs to the table for good: what was spent stays spent. "
                "For a table of other patients make another hospital folder, with an identity of its own: pansvm "
                "hospital init"
            )
        write_checked(folder / LINK_FILE, asdict(Link(test_fraction)))


def end_ledger(folder: Path) -> None:
    """End the budget of a state folder's table, whatever was spent, and begin a new one: a person's decision.

    The key stays, and with it the copy of each record, unless the ledger is lost or damaged.
    """
    link = read_link(folder)
    with locked_state(home := tables_home()):
        table_folder = home / link.table
        if not link.table or not table_folder.exists():
            write_checked(folder / LINK_FILE, asdict(Link(link.test_fraction)))
            return
        try:
            ledger = ledger_in(table_folder)
            spent = ledger.spent("train"), ledger.spent("test")
        except BudgetError:
            if (table_folder / LEDGER_FILE).exists():
                (table_folder / LEDGER_FILE).read_bytes()  # cannot be read now: not lost, nor its key
            ledger, spent = Ledger(link.test_fraction, secrets.token_hex(32)), (math.nan, math.nan)
        ended = (*ledger.ended, Ended(now(), *spent))
        epochs = *ledger.epochs, *ledger.missed
        write_ledger(table_folder, replace(ledger, charges=(), epochs=epochs, missed=(), ended=ended))
        write_checked(folder / LINK_FILE, asdict(replace(link, copies=ledger.copies)))


def end_copy(folder: Path) -> None:
    """End the perturbed copy of a state folder's table: a person's decision, as the next is a second one.

    BudgetError if the ledger is missing or damaged, or no copy was begun.
    """

    def ended(ledger: Ledger) -> Ledger:
        if not ledger.copy:
            raise BudgetError("No copy of this table was begun at level perturbed. There is nothing to end.")
        return replace(ledger, copy={}, copies_ended=(*ledger.copies_ended, now()))

    change_ledger(folder, ended)


def _begun_text(folder: Path, test_fraction: float) -> str:
    return (
        f"A ledger begins in {folder}; a table that has one from another folder keeps that. Keep the folder, "
        "and pansvm/tables in the account's state folder, as long as the table: a lost ledger is a spent one, and with "
        "it the table's perturbed copy is lost. "
        f"{test_fraction:.0%} of the rows are kept for evaluation in all runs. Start the SuperNode with epsilon, delta "
        "and this folder as state in its node config."
    )


def _ledger_text(ledger: Ledger, epsilon: float, delta: float) -> str:
    """Return a line for each run, for the spent part, and for the rest."""
    line = "{:<22} {:<20} {:>8} {:>14} {:>10}".format
    sides: tuple[Side, ...] = ("train", "test")
    lines = [line("epsilon by run", "first answer", "answers", "training rows", "test rows")]
    for run in dict.fromkeys(c.run for c in ledger.charges):
        charges = [c for c in ledger.charges if c.run == run]
        costs = [f"{epsilon_of(ledger.spent(side, run), delta):.4f}" for side in sides]
        lines.append(line(run, charges[0].time, len(charges), *costs))
    spent = [ledger.spent(side) for side in sides]
    left = [max(rho_of(epsilon, delta) - rho, 0.0) for rho in spent]
    for title, both in (("spent", spent), ("left", left)):
        lines.append(line(title, "", "", *(f"{epsilon_of(rho, delta):.4f}" for rho in both)))
    lines.append(
        f"of epsilon {epsilon:g} with delta {delta:g}; parts of epsilon do not add up to it, costs (rho) do"
    )
    if ledger.missed:
        lines.append("this ledger is behind: it is an older copy, and counts as spent")
    lines += [
        f"a perturbed copy ended at {time}; the mean of all copies has less noise"
        for time in ledger.copies_ended
    ]
    for end in ledger.ended:
        before = [
            "unknown" if math.isnan(rho) else f"{epsilon_of(rho, delta):.4f}" for rho in (end.train, end.test)
        ]
        lines.append(f"a budget ended at {end.time}; spent of it, to be added: {before[0]} and {before[1]}")
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        main()
    except PanSVMError as error:
        sys.exit(f"Error: {error.with_detail()}")
    except OSError as error:
        sys.exit(
            f"Error: {error}. See whether the disk is full, and whether this account may read and write there."
        )
