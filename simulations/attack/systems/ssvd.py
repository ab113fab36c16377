"""Distortion: the number of re-identified published rows, and the correlation of a column with its copy."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin

from clients.systems.ssvd import cells_to_distort
from flower_pansvm.arrays import Floats
from flower_pansvm.systems.ssvd import DISTORTED_ROWS, distort
from simulations.attack.systems.system import Figures
from simulations.data.simulated_sites import SimulatedSites
from strategies.federation.transcript import TranscriptSum

MOST_MATCHED = 3000
"""Rows of a site that are matched one to one; the time grows with the third power."""


def figures(sites: SimulatedSites, transcript: Sequence[TranscriptSum]) -> Figures:
    """Return the number of published rows, the shares re-identified, and the sites' mean correlation."""
    entries = [entry for entry in transcript if entry.task == DISTORTED_ROWS.name]
    if not entries:
        return {}
    question = entries[0].question(DISTORTED_ROWS)
    there = [site for site in sites.before(entries[0]) if site.name in entries[0].sites]
    cells = [cells_to_distort(site, question) for site in there]
    tables = [(original, distort(original)) for original in cells]
    rows = sum(len(original) for original, _ in tables)
    correlations = np.array([column_correlation(*pair) for pair in tables])
    finite = correlations[np.isfinite(correlations)]
    few = max(len(original) for original, _ in tables) <= MOST_MATCHED
    return {
        "rows_published": rows,
        "linked": sum(linked_rows(*pair) for pair in tables) / rows,
        "matched": sum(matched_rows(*pair) for pair in tables) / rows if few else None,
        "correlation": float(finite.mean()) if len(finite) else None,
    }


def linked_rows(original: Floats, distorted: Floats) -> int:
    """Return the number of distorted rows that are nearest to their own original.

    Columns are standardised, each table by itself. An attacker with the original rows of some patients re-identifies
    their distorted rows, with the labels, in the same way.
    """
    nearest = pairwise_distances_argmin(standardised(distorted), standardised(original))
    return int((nearest == np.arange(len(nearest))).sum())


def matched_rows(original: Floats, distorted: Floats) -> int:
    """Return the number of distorted rows with their own original in the assignment of least total distance.

    An attacker with all the original rows, but not their labels, re-identifies more of them so than row by row.
    """
    distances = pairwise_distances(standardised(distorted), standardised(original))
    rows, matched = linear_sum_assignment(distances)
    return int((rows == matched).sum())


def column_correlation(original: Floats, distorted: Floats) -> float:
    """Return the mean correlation of a column with its distortion, over columns that vary in both tables."""
    vary = (original.std(axis=0) > 0) & (distorted.std(axis=0) > 0)
    return float((standardised(original) * standardised(distorted))[:, vary].mean())


def standardised(A: Floats) -> Floats:
    """Return columns with mean 0 and standard deviation 1; constant ones become 0."""
    deviation = A.std(axis=0)
    result: Floats = (A - A.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return result
