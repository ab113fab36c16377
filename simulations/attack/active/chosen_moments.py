"""Records from moments: the number of folds chooses over which records sums are, and they are solved for each record.

Which records are in which fold follows from the hospital's own ledger, whatever seed a run has. So another run with as
many folds brings nothing new, and records that stand at the same place at all hospitals are never apart.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from clients.folds import folds_of
from clients.site import Site
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import PanSVMError
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.systems.scaling import MOMENTS
from flower_pansvm.tasks import Nothing
from simulations.attack.active.hospitals import Hospitals, Told
from simulations.attack.active.nearness import PROMISE, all_trained, asked_at, attempt
from simulations.attack.active.registry import Attempt, attack, refusal

TABLES = {"first": 60, "second": 61, "third": 62}
LEAST = 5  # records of a hospital in a fold


@attack(
    "chosen-moments",
    promise=PROMISE,
    tries="Asks for moments by fold in run after run, each with another seed and number of folds, and solves for the "
    "records. It is told which records are in which fold, which each hospital chooses itself.",
)
def play(folder: Path, level: str = "perturbed") -> Attempt:
    """Solve for all records, as far as the sums tell them apart."""
    hospitals = Hospitals(folder, TABLES, asked_at(level))
    return attempt(level, all_trained(hospitals.records()), *solved(hospitals, min(TABLES.values()) // LEAST))


def solved(hospitals: Hospitals, most_folds: int) -> tuple[Floats, str]:
    """Return the records that moments determine, shape (records, columns), and what the hospitals refused.

    Parameters
    ----------
    hospitals : Hospitals
        Whose settings leave the number of folds to the coordinator.
    most_folds : int
        That the hospitals have enough records for.
    """
    known: list[Floats] = []
    sums: list[Floats] = []
    try:
        for run, folds in enumerate(range(2, most_folds + 1), start=1):
            coordinator = hospitals.coordinator(run)
            coordinator.join()
            told: Told = {SCHEMA: replace(hospitals.schema(), folds=folds, seed=run)}
            coordinator.tell(told)
            sums.append(coordinator.ask(MOMENTS, Nothing()).total)
            numbers = np.concatenate([hospitals.exact(name, told, _folds, None) for name in hospitals.nodes])
            known.append((numbers == np.arange(folds)[:, None]).astype(np.float64))
        why = ""
    except PanSVMError as error:
        why = f"; {refusal(error)}"
    if not known:
        return np.empty((0, len(hospitals.columns))), why
    rows = np.linalg.lstsq(np.vstack(known), np.vstack(sums[: len(known)]), rcond=None)[0]
    return rows, why


def _folds(site: Site, question: None) -> Ints:  # noqa: ARG001
    return folds_of(site)
