"""Whether the labels of a column can be classes: a label column chosen by mistake may hold the patients' names.

No error shows a label: it may travel.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Ints
from flower_pansvm.errors import TableError
from flower_pansvm.labels import LABEL_RULE, MOST_CLASSES, SPELLING, can_be_class, misspelt, spelling


def patients_of_labels(labels: NDArray[np.str_], patients: Ints) -> tuple[NDArray[np.str_], Ints]:
    """Return the different labels in order, and the number of patients of each, shapes (labels,).

    ``labels`` and ``patients``, the number of each row's patient, have the shape (rows,).
    """
    names, codes = np.unique(labels, return_inverse=True)
    pairs = np.unique(np.stack([codes, patients]), axis=1)
    return names, np.bincount(pairs[0], minlength=len(names))


def check_labels(
    labels: NDArray[np.str_], positive: Sequence[str], column: str, least: int, patients: Ints | None = None
) -> None:
    """Check that a table's labels can be classes.

    Where ``positive`` names labels, the classes are two and no label leaves, so that it only has to be clear which rows
    are positive.

    An error about a misspelt label reveals that it is there, so it has to be that of at least ``least`` patients, whose
    numbers are ``patients``: by default each row is one. ``column`` says column and file, for the TableError, which
    holds no label.
    """
    names, counts = patients_of_labels(labels, np.arange(len(labels)) if patients is None else patients)
    if positive:
        check_positive(names[counts >= least], positive, column)
        return
    few, spellings = len(names) <= MOST_CLASSES, set(map(spelling, names))
    if few and len(spellings) < len(names):
        raise TableError(
            f"The {column} has two labels that differ only {SPELLING}. Most likely they mean the same: write them the "
            "same way; or name both in the setting 'positive', which makes one class of them."
        )
    if not few or not all(map(can_be_class, names)):
        raise TableError(
            f"The {column} does not hold classes. Labels are {LABEL_RULE}, and at most {MOST_CLASSES} different ones; "
            "dates, decimals and long numbers are not labels. Name the right column as label column; if it is the "
            "right one, name the labels that count as positive in the setting 'positive', which makes two classes of "
            "all; or list the labels to train on as 'classes' in the hospital's node config."
        )


def check_positive(labels: Iterable[str], positive: Sequence[str], column: str) -> None:
    """Check that no label is positive but for its spelling; TableError, which says ``column``, if one is."""
    if misspelt(labels, positive):
        raise TableError(
            f"The {column} has a label that differs only {SPELLING}, from one that the setting 'positive' names, and "
            "would not count as positive. Name both in 'positive', or write them the same way."
        )
