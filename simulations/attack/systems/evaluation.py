"""Subgroups: counts of few records, and of records that are all of one patient."""

from collections.abc import Sequence

import numpy as np

from flower_pansvm.systems.evaluation import SUBGROUPS
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum


def figures(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:  # noqa: ARG001
    """Return how many counts by group, class and prediction are of one record, and how many classes' of one patient.

    A patient's alone are a group's records of a class whose square is the sum over patients of their squares.
    """
    counted = [entry.sums for entry in transcript if entry.task == SUBGROUPS.name]
    if not counted:
        return {}
    confusion, products = (
        np.concatenate([sums[name] for sums in counted]) for name in ("confusion", "products")
    )
    rows, squares = confusion.sum(axis=2), np.einsum("gii->gi", products)
    return {
        "alone_in_groups": int(np.count_nonzero(confusion == 1)),
        "groups_of_one_patient": int(np.count_nonzero((rows > 0) & (squares == np.square(rows)))),
    }
