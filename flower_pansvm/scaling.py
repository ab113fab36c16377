"""Scaling of the features by what all sites hold together, from sums only.

Missing cells are filled with the federated mean, so that in scaled units they are 0 with ``standard``.
"""

from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Bools, Floats


def moments(X: Floats) -> dict[str, Floats]:
    """Return what one site adds to the federated mean and variance: sums over its rows, each of shape (features,).

    ``count`` is the number of cells present (not NaN), ``total`` their sum, ``square`` that of their squares.
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
    """An affine map of each feature, and what to put into missing cells; all of shape (features,)."""

    fill: Floats  # value for missing cells, in the table's units
    shift: Floats
    scale: Floats  # a cell x becomes (x - shift) / scale

    def of(self, features: Bools) -> "Scaling":
        """Return the scaling of some of the features, which a mask of shape (features,) picks."""
        return Scaling(self.fill[features], self.shift[features], self.scale[features])

    def transform(self, X: Floats) -> Floats:
        """Return the rows filled and scaled, shape (rows, features)."""
        return (np.where(np.isnan(X), self.fill, X) - self.shift) / self.scale
