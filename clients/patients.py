"""The unit is the patient: whose rows are whose, and what is counted and chosen by patient.

Where the schema file names ``patient-id``, all rows of a patient are on one side of the split and in one fold, and
wherever a site counts to ``min-cluster`` it counts patients, but in a perturbed copy rows: codes and ends of a copy are
what so many records share. Without it each row is a patient.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clients.table.table import Table
from flower_pansvm.arrays import Bools, Ints


def patient_numbers(table: Table) -> Ints:
    """Return a number of each row's patient, shape (rows,): equal ones in the rows of one patient."""
    if table.patients is None:
        return np.arange(len(table.X))
    return np.unique(table.patients, return_inverse=True)[1]


def count_patients(patients: Ints) -> int:
    """Return the number of patients of some rows."""
    return len(np.unique(patients))


def at_most(most: int, patients: Ints, numbers: NDArray[Any]) -> Bools:
    """Return which rows are among the first ones of their patient by a number of each row, shape (rows,).

    Whether a row is depends on the rows of its own patient and on no other one.
    """
    order = np.lexsort((numbers, patients))
    new = np.append(True, np.diff(patients[order]) != 0)[: len(order)]
    starts = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    chosen = np.empty(len(order), dtype=np.bool_)
    chosen[order] = np.arange(len(order)) - starts < most
    return chosen
