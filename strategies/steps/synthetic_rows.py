"""Rows as they may be, made by the coordinator of nothing but what it knows: landmarks, and how far columns spread.

They stand in for the rows of sites that tell no curvature (:mod:`strategies.master.guessed_curvature`). Landmarks alone
say too little: they are means of rows, and all rows lie somewhere around them.
"""

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Singles
from flower_pansvm.nystroem import NystromMap

EACH, MOST_EACH, ROWS_FOR_ONE = 10, 40, 100
"""Synthetic rows of a landmark, at least and at most, and how many of the sites' rows there have to be for one more.

More tell no more where rows are few, whose curvature has chance in it, too."""

MOST_CELLS = 400_000
"""Cells of all synthetic rows together, but for one row of each landmark: with thousands of columns each landmark has
fewer."""

LEAST_SPREAD = 0.2
"""Share of a column's variance that rows have around their landmark, at least. Landmarks of few rows, or with noise,
may spread as far as the rows themselves; then the moments say nothing of it."""


def synthetic_rows(feature_map: NystromMap, variances: NDArray[np.float64], rows: int) -> Singles:
    """Return synthetic rows, mapped, in single precision: around each landmark as many.

    Each column of a row deviates from the landmark by a normal number of its own, whose variance is what the landmarks
    lack of the column's. The same landmarks always have the same synthetic rows.

    Parameters
    ----------
    feature_map : NystromMap
        The landmarks and the map.
    variances : ndarray of shape (features,)
        Variance of each scaled feature over the rows of all sites.
    rows : int
        How many rows that are.

    Returns
    -------
    ndarray of shape (synthetic rows, rank)
    """
    landmarks = feature_map.landmarks
    spread = np.sqrt(np.maximum(variances - landmarks.var(axis=0), LEAST_SPREAD * variances))
    each = min(max(EACH, rows // (ROWS_FOR_ONE * len(landmarks))), MOST_EACH)
    each = min(each, max(1, MOST_CELLS // landmarks.size))
    around = np.repeat(landmarks, each, axis=0)
    around += spread * np.random.default_rng(0).normal(size=around.shape)
    return feature_map.transform(around).astype(np.float32)
