"""Probabilities from decision values: Platt's sigmoid.

Source: Platt 1999, "Probabilistic outputs for support vector machines". The coordinator fits it
(:mod:`strategies.pan_svm.platt`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from flower_pansvm.arrays import Floats


@dataclass(frozen=True)
class Calibration:
    """One sigmoid 1 / (1 + exp(-(slope d + intercept))) per column of class decisions d.

    Raises
    ------
    ValueError
        If the two do not have the same shape, or a number in them is not finite.
    """

    slopes: Floats  # (columns,): one column, for class 1, with two classes; else one per class
    intercepts: Floats  # (columns,): likewise

    def __post_init__(self) -> None:
        if self.slopes.ndim != 1 or self.slopes.shape != self.intercepts.shape:
            raise ValueError(
                f"A calibration has one slope and one intercept per column, not arrays of shape {self.slopes.shape} "
                f"and {self.intercepts.shape}. Fit it with strategies.pan_svm.platt."
            )
        if not (np.isfinite(self.slopes).all() and np.isfinite(self.intercepts).all()):
            raise ValueError(
                "A slope or intercept of the calibration is not finite. Check the centre and scale of the histograms."
            )

    def probabilities(self, class_decisions: Floats) -> Floats:
        """Return the probability of each class, as ``CalibratedClassifierCV(method="sigmoid", ensemble=False)``.

        Parameters
        ----------
        class_decisions : ndarray of shape (rows, columns)
            From :func:`flower_pansvm.multiclass.class_decisions`.

        Returns
        -------
        ndarray of shape (rows, classes)
            Each row sums to 1. With several classes, the sigmoids divided by their sum; where all of them
            vanish, every class has the same probability.
        """
        sigmoids: Floats = expit(class_decisions * self.slopes + self.intercepts)
        if len(self.slopes) == 1:
            return np.hstack([1.0 - sigmoids, sigmoids])
        total = sigmoids.sum(axis=1, keepdims=True)
        shares = np.full_like(sigmoids, 1.0 / len(self.slopes))
        np.divide(sigmoids, total, out=shares, where=total > 0)
        return shares
