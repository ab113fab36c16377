"""Scaling of the features by what all sites hold together, from sums only.

Missing cells are filled with the federated mean, so that in scaled units they are 0 with ``standard``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def moments(X: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return what one site adds to the federated mean and variance.

    Parameters
    ----------
    X : ndarray of shape (rows, features)
        The site's rows; NaN is a missing cell.

    Returns
    -------
    dict
        ``count``, ``total`` and ``square``: for each feature the number of cells present, their sum and the
        sum of their squares, each of shape (features,).
    """
    present = ~np.isnan(X)
    filled = np.where(present, X, 0.0)
    return {
        "count": present.sum(axis=0).astype(np.float64),
        "total": filled.sum(axis=0),
        "square": np.square(filled).sum(axis=0),
    }


@dataclass(frozen=True)
class Scaling:
    """An affine map of each feature, and what to put into missing cells.

    Parameters
    ----------
    fill : ndarray of shape (features,)
        Value for missing cells, in the table's units.
    shift, scale : ndarray of shape (features,)
        A cell x becomes (x - shift) / scale.
    """

    fill: NDArray[np.float64]
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]

    def of(self, features: NDArray[np.bool_]) -> "Scaling":
        """Return the scaling of some of the features, which a mask of shape (features,) picks."""
        return Scaling(self.fill[features], self.shift[features], self.scale[features])

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows filled and scaled, shape (rows, features)."""
        return (np.where(np.isnan(X), self.fill, X) - self.shift) / self.scale
