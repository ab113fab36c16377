"""``python -m clients.budget``, or ``pansvm budget``: begins the budget of a table, and shows what was spent of it.

It is part of what a hospital audits, and needs no package that the hospital does not have.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from clients.gate.budget import Ledger, new_ledger, read_ledger
from flower_pansvm.errors import BudgetError
from flower_pansvm.privacy.accountant import epsilon_of, rho_of


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; BudgetError if there is no ledger, it is damaged, or one has been begun already."""
    parser = argparse.ArgumentParser(
        prog="pansvm budget",
        description="Show what was spent by which run, and what is left; or begin a budget.",
    )
    parser.add_argument("folder", type=Path, help="the hospital's state folder: 'state' in its node config")
    parser.add_argument(
        "--new",
        action="store_true",
        help="begin the budget of a table; once, as what is spent never comes back",
    )
    parser.add_argument(
        "--test-fraction",
        type=float,
        default=0.2,
        help="with --new: share of the rows kept for evaluation (0.2)",
    )
    parser.add_argument("--epsilon", type=float, default=1.0, help="as in the node config (1.0)")
    parser.add_argument("--delta", type=float, default=1e-5, help="as in the node config (1e-5)")
    asked = parser.parse_args(arguments)
    if not (0 <= asked.test_fraction < 1 and asked.epsilon > 0 and 0 < asked.delta < 1):
        parser.error(
            "--test-fraction has to be from 0 to below 1, --epsilon above 0, --delta between 0 and 1"
        )
    if asked.new:
        new_ledger(asked.folder, asked.test_fraction)
        text = _begun(asked.folder, asked.test_fraction)
    else:
        text = _table(read_ledger(asked.folder), asked.epsilon, asked.delta)
    sys.stdout.write(f"{text}\n")


def _begun(folder: Path, test_fraction: float) -> str:
    return (
        f"The budget of this table begins in {folder}. Keep that folder as long as the table: if it is lost, all of "
        f"the budget is. {test_fraction:.0%} of the rows are kept for evaluation in all runs. Start the SuperNode with "
        "epsilon, delta and this folder as state in its node config."
    )


def _table(ledger: Ledger, epsilon: float, delta: float) -> str:
    """Return a line for each run, what is spent, and what is left."""
    line, rows = "{:<22} {:<20} {:>8} {:>14} {:>10}".format, ("train", "test")
    lines = [line("epsilon by run", "first answer", "answers", "training rows", "test rows")]
    for run in dict.fromkeys(one.run for one in ledger.charges):
        own = [one for one in ledger.charges if one.run == run]
        costs = [f"{epsilon_of(ledger.spent(side, run), delta):.4f}" for side in rows]  # type: ignore[arg-type]
        lines.append(line(run, own[0].time, len(own), *costs))
    spent = [ledger.spent(side) for side in rows]  # type: ignore[arg-type]
    left = [max(rho_of(epsilon, delta) - rho, 0.0) for rho in spent]
    for title, both in (("spent", spent), ("left", left)):
        lines.append(line(title, "", "", *(f"{epsilon_of(rho, delta):.4f}" for rho in both)))
    lines.append(
        f"of epsilon {epsilon:g} with delta {delta:g}; parts of epsilon do not add up to it, costs (rho) do"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        main()
    except BudgetError as error:
        sys.exit(f"Error: {error.with_detail()}")
