"""Records from moments: seed and folds choose over which records sums are, until they can be solved for each record."""

from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

from clients.site import Site
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import PanSVMError
from flower_pansvm.tasks.joining import SCHEMA
from flower_pansvm.tasks.scaling import MOMENTS
from flower_pansvm.tasks.task import Nothing
from simulations.attack.active.hospitals import Hospitals, Told
from simulations.attack.active.nearness import PROMISE, all_trained, asked_at, attempt
from simulations.attack.active.registry import Attempt, attack, refusal

TABLES = {"first": 30, "second": 31, "third": 32}
LEAST = 5  # records of a hospital in a fold
ENOUGH = 1.35
"""Equations for each record: one in each run follows from the others."""


@attack(
    "chosen-moments",
    promise=PROMISE,
    tries="Asks for moments by fold in run after run, each with another seed, and solves for the records. It is told "
    "which records are in which fold.",
)
def play(folder: Path, level: str = "perturbed") -> Attempt:
    """Solve for all records."""
    hospitals = Hospitals(folder, TABLES, asked_at(level))
    return attempt(level, all_trained(hospitals.records()), *solved(hospitals, min(TABLES.values()) // LEAST))


def solved(hospitals: Hospitals, most_folds: int) -> tuple[Floats, str]:
    """Return the records that moments determine, shape (records, columns), and what the hospitals refused.

    Parameters
    ----------
    hospitals : Hospitals
        Whose settings leave folds to the coordinator.
    most_folds : int
        Of each run; a run brings as many equations, of which one follows from those of another.
    """
    known: list[Floats] = []
    sums: list[Floats] = []
    try:
        for run in count(1):
            # Equal parts of a class are the same sum in all runs with as many folds.
            folds = max(2, most_folds - run % 4)
            coordinator = hospitals.coordinator(run)
            coordinator.join()
            told: Told = {SCHEMA: replace(hospitals.schema(), folds=folds, seed=run)}
            coordinator.tell(told)
            sums.append(coordinator.ask(MOMENTS, Nothing()).total)
            numbers = np.concatenate([hospitals.exact(name, told, _folds, None) for name in hospitals.nodes])
            known.append((numbers == np.arange(folds)[:, None]).astype(np.float64))
            if sum(map(len, known)) > ENOUGH * len(numbers) + 4:
                break
        why = ""
    except PanSVMError as error:
        why = f"; {refusal(error)}"
    if not known:
        return np.empty((0, len(hospitals.columns))), why
    rows = np.linalg.lstsq(np.vstack(known), np.vstack(sums[: len(known)]), rcond=None)[0]
    return rows, why


def _folds(site: Site, question: None) -> Ints:  # noqa: ARG001
    return site.folds()
