"""Records from moments: the number of folds determines the records of each sum, and the sums determine the records.

Two hospitals collude: the sum without their own parts is the third one's. A secret number of each of its records
determines their order, whatever the run's seed. With k folds, a fold is every k-th record in this order, and sums over
every k-th record, for enough k, determine each record.
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
from simulations.attack.active.hospitals import Broadcasts, Hospitals
from simulations.attack.active.nearness import all_trained, asked_at, attempt
from simulations.attack.active.registry import Attempt, refusal

VICTIM = "victim"
TABLES = {"first": 130, "second": 140, VICTIM: 100}
STARTS = 2**16  # as of `clients.ledger.lasting_split`
LEAST = 5  # records of a hospital in a fold


def play(folder: Path, level: str = "perturbed") -> Attempt:
    """Solve for all records of the victim."""
    hospitals = Hospitals(folder, TABLES, asked_at(level))
    return attempt(level, all_trained(hospitals.records()[-1:]), *solved(hospitals, TABLES[VICTIM]))


def solved(hospitals: Hospitals, rows: int) -> tuple[Floats, str]:
    """Return the victim's records from moments, shape (records, columns), and the hospitals' refusal.

    Parameters
    ----------
    hospitals : Hospitals
        The victim and two colluding ones with no fewer records.
    rows : int
        Records of the victim, known from the first sums.
    """
    colluding = hospitals.nodes.keys() - {VICTIM}
    sums: list[Floats] = []
    sizes: list[Floats] = []
    why = ""
    # Sums for up to k folds determine 0.3 k² numbers; more than enough, as the last ones hardly differ.
    most_folds = min(math.ceil(3 * math.sqrt(rows)), rows // LEAST)
    try:
        for run, folds in enumerate(range(2, most_folds + 1), start=1):
            coordinator = hospitals.coordinator(run)
            coordinator.join()
            broadcasts: Broadcasts = {SCHEMA: replace(hospitals.schema(), folds=folds)}
            coordinator.broadcast(broadcasts)
            own_sums = [hospitals.exact(name, broadcasts, moments, Nothing()) for name in colluding]
            sum_of_all = coordinator.ask(MOMENTS, Nothing())
            sums.append(sum_of_all.total - sum(own_sum.total for own_sum in own_sums))
            sizes.append((sum_of_all.rows - sum(own_sum.rows for own_sum in own_sums)).sum(axis=1))
    except PanSVMError as error:
        why = f"; {refusal(error)}"
    if not sums:
        return np.empty((0, len(hospitals.columns))), why
    start = _start(sizes, rows)
    in_fold = [folds_of(start, rows, len(total)) for total in sums]
    cells: Floats = np.linalg.lstsq(np.vstack(in_fold).astype(np.float64), np.vstack(sums), rcond=None)[0]
    return cells, why


def folds_of(start: int, rows: int, folds: int) -> Bools:
    """Return the records of each fold, shape (folds, rows), in the order of `clients.dealing.fold_order`."""
    in_fold: Bools = (start + np.arange(rows)) % folds == np.arange(folds)[:, None]
    return in_fold


def _start(sizes: list[Floats], rows: int) -> int:
    """Return the lowest start that gives folds of these sizes, which are whole but for the rounding of a sum."""
    starts = np.arange(STARTS)
    for observed in sizes:
        folds = len(observed)
        expected = (folds_of(start, rows, folds).sum(axis=1) for start in range(folds))
        fits = np.array([np.allclose(counts, observed, atol=0.5) for counts in expected])
        starts = starts[fits[starts % folds]]
    return int(starts[0]) if len(starts) else 0
