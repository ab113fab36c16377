"""How often this hospital has refused because of its own values, counted over all runs.

Such a refusal is an answer: it tells the coordinator one thing about this hospital's rows alone. Within a run a site
withdraws after the first one; and after some runs that ended so, it takes part in none until a person has looked.
"""

from logging import ERROR
from pathlib import Path

from flwr.app import Context
from flwr.common.logger import log

from clients.gate.state_folder import state_folder
from clients.gate.terms import site_name
from flower_pansvm.errors import SumError

FILE = "value-refusals"
MOST = 3  # refusals after which a hospital takes part in no run


def note_value_refusal(context: Context) -> None:
    """Count one more refusal; nothing is counted at a simulated site."""
    folder = state_folder(context)
    if folder is not None:
        unfinished = folder / f"{FILE}.part"
        unfinished.write_text(f"{_count(folder / FILE) + 1}\n", encoding="utf-8")
        unfinished.replace(folder / FILE)


def check_value_refusals(context: Context) -> None:
    """Check, before a run is joined, that this hospital has not refused too often; the SumError has no number."""
    folder = state_folder(context)
    if folder is None or _count(folder / FILE) < MOST:
        return
    log(
        ERROR,
        "This site takes part in no run: %d runs have ended because a value or a number of rows of its table did not "
        "fit what the coordinator asked, and each told the coordinator something about this table. Look into it with "
        "the other hospitals; then delete %s.",
        MOST,
        folder / FILE,
    )
    raise SumError(
        f"Site '{site_name(context)}' takes part in no run: too many have ended with a refusal about its values. Its "
        "own log says what its operator has to do."
    )


def _count(path: Path) -> int:
    """Return the number in a file, 0 without one; one that cannot be read counts as too many."""
    try:
        return int(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return 0
    except (OSError, ValueError):
        return MOST
