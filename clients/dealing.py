"""The order in which a site's patients are assigned to folds, one class after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Ints


def rarest_classes(classes: NDArray[Any], patients: Ints) -> tuple[Ints, Ints]:
    """Return the rarest class of each patient, and the index of each row's patient among these.

    Parameters
    ----------
    classes : ndarray of shape (rows,)
        Class of each row; a patient's rows may be of several.
    patients : ndarray of shape (rows,)
        Number of each row's patient.

    Returns
    -------
    strata : ndarray of shape (patients,)
        Number of the class among all of them in order, from 0.
    places : ndarray of shape (rows,)
    """
    _, codes, counts = np.unique(classes, return_inverse=True, return_counts=True)
    by_rarity = np.argsort(-counts, kind="stable")
    there, places = np.unique(patients, return_inverse=True)
    ranks = np.zeros(len(there), dtype=np.int64)
    np.maximum.at(ranks, places, np.argsort(by_rarity)[codes])
    return by_rarity[ranks] if len(there) else ranks, places


def fold_order(classes: NDArray[Any], patients: Ints, numbers: NDArray[Any], start: int) -> Ints:
    """Return each row's index in the order in which patients are assigned to folds, one class after the other.

    Parameters
    ----------
    classes, patients : ndarray of shape (rows,)
        As of :func:`rarest_classes`.
    numbers : ndarray of shape (rows,)
        A number of each row's patient, by which patients of a class are in order.
    start : int
        Place of the first patient. Were it the same at all sites, so would be the folds that get the odd patient.
    """
    strata, places = rarest_classes(classes, patients)
    of_patient = np.empty(len(strata), dtype=numbers.dtype)
    of_patient[places] = numbers
    order = np.empty(len(strata), dtype=np.int64)
    order[np.lexsort((of_patient, strata))] = start + np.arange(len(strata))
    return order[places]
