"""Records from moments: the number of folds chooses over which records sums are, and they are solved for each record.

Two hospitals collude: they know their own parts of a sum, and what is left is the third one's. Which of its records is
in which fold follows from a secret number of each, whatever seed a run has. But with k folds these are the records at
every k-th place, and sums over every k-th place, for enough k, determine what is at each.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from clients.systems.scaling import moments
from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.errors import PanSVMError
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.systems.scaling import MOMENTS
from flower_pansvm.tasks import Nothing
from simulations.attack.active.hospitals import Hospitals, Told
from simulations.attack.active.nearness import PROMISE, all_trained, asked_at, attempt
from simulations.attack.active.registry import Attempt, attack, refusal

VICTIM = "victim"
TABLES = {"first": 130, "second": 140, VICTIM: 100}
STARTS = 2**16  # as of `clients.ledger.lasting_split`
LEAST = 5  # records of a hospital in a fold


@attack(
    "chosen-moments",
    promise=PROMISE,
    tries="Asks for moments by fold in run after run, each with another number of folds, takes off the parts of two "
    "hospitals that collude, and solves for the records of the third.",
)
def play(folder: Path, level: str = "perturbed") -> Attempt:
    """Solve for all records of the victim."""
    hospitals = Hospitals(folder, TABLES, asked_at(level))
    return attempt(level, all_trained(hospitals.records()[-1:]), *solved(hospitals, TABLES[VICTIM]))


def solved(hospitals: Hospitals, rows: int) -> tuple[Floats, str]:
    """Return the victim's records that moments determine, shape (records, columns), and what the hospitals refused.

    Parameters
    ----------
    hospitals : Hospitals
        The victim and, with no fewer records, two that collude.
    rows : int
        Records of the victim, which the first sums tell.
    """
    colluding = hospitals.nodes.keys() - {VICTIM}
    sums: list[Floats] = []
    sizes: list[Floats] = []
    why = ""
    # Sums for up to k folds determine 0.3 k² numbers: to spare, as the last ones hardly differ.
    most_folds = min(math.ceil(3 * math.sqrt(rows)), rows // LEAST)
    try:
        for run, folds in enumerate(range(2, most_folds + 1), start=1):
            coordinator = hospitals.coordinator(run)
            coordinator.join()
            told: Told = {SCHEMA: replace(hospitals.schema(), folds=folds)}
            coordinator.tell(told)
            known = [hospitals.exact(name, told, moments, Nothing()) for name in colluding]
            answer = coordinator.ask(MOMENTS, Nothing())
            sums.append(answer.total - sum(part.total for part in known))
            sizes.append((answer.rows - sum(part.rows for part in known)).sum(axis=1))
    except PanSVMError as error:
        why = f"; {refusal(error)}"
    if not sums:
        return np.empty((0, len(hospitals.columns))), why
    start = _start(sizes, rows)
    in_fold = [dealt(start, rows, len(one)) for one in sums]
    found: Floats = np.linalg.lstsq(np.vstack(in_fold).astype(np.float64), np.vstack(sums), rcond=None)[0]
    return found, why


def dealt(start: int, rows: int, folds: int) -> Bools:
    """Return which places are in which fold, shape (folds, rows), as `clients.patients.fold_places` deals them."""
    in_fold: Bools = (start + np.arange(rows)) % folds == np.arange(folds)[:, None]
    return in_fold


def _start(sizes: list[Floats], rows: int) -> int:
    """Return the lowest start with which folds have these sizes; sizes are whole but for the rounding of a sum."""
    starts = np.arange(STARTS)
    for one in sizes:
        fits = [
            np.allclose(dealt(start, rows, len(one)).sum(axis=1), one, atol=0.5) for start in range(len(one))
        ]
        starts = starts[np.asarray(fits)[starts % len(one)]]
    return int(starts[0]) if len(starts) else 0
