"""Probabilities from decision values: Platt's sigmoid, fitted on counts that the sites add up.

Source: Platt 1999, "Probabilistic outputs for support vector machines", with his smoothed targets. No decision
value leaves a site: each counts its held-out ones per bin (:func:`flower_pansvm.counts.decision_histogram`).
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from flower_pansvm.metrics import histogram_middles

PRECISION = 1e-10
"""The fit ends when no component of the mean loss's gradient is larger."""


@dataclass(frozen=True)
class Calibration:
    """One sigmoid 1 / (1 + exp(-(slope d + intercept))) per column of class decisions d.

    Raises
    ------
    ValueError
        If the two do not have the same shape, or a number in them is not finite.
    """

    slopes: NDArray[np.float64]  # (columns,): one column, for class 1, with two classes; else one per class
    intercepts: NDArray[np.float64]  # (columns,): likewise

    def __post_init__(self) -> None:
        if self.slopes.ndim != 1 or self.slopes.shape != self.intercepts.shape:
            raise ValueError(
                f"A calibration has one slope and one intercept per column, not arrays of shape {self.slopes.shape} "
                f"and {self.intercepts.shape}. Build it with Calibration.from_histograms."
            )
        if not (np.isfinite(self.slopes).all() and np.isfinite(self.intercepts).all()):
            raise ValueError(
                "A slope or intercept of the calibration is not finite. Check the centre and scale of the histograms."
            )

    @classmethod
    def from_histograms(
        cls, histograms: NDArray[np.float64], centres: Iterable[float], scales: Iterable[float]
    ) -> Self:
        """Fit the sigmoids; every decision value counts as the middle of its bin.

        Parameters
        ----------
        histograms : ndarray of shape (columns, 2, BINS)
            Counts over all sites of held-out rows, negative ones first, by class decision. Rows that the model
            was trained on would give probabilities that are too sure.
        centres, scales : iterable of float, one per column
            Those of the histograms.
        """
        sigmoids = [
            _platt(histogram_middles(centre, scale), negative, positive)
            for (negative, positive), centre, scale in zip(histograms, centres, scales, strict=True)
        ]
        return cls(*np.array(sigmoids).T)

    def probabilities(self, class_decisions: NDArray[np.float64]) -> NDArray[np.float64]:
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
        sigmoids: NDArray[np.float64] = expit(class_decisions * self.slopes + self.intercepts)
        if len(self.slopes) == 1:
            return np.hstack([1.0 - sigmoids, sigmoids])
        total = sigmoids.sum(axis=1, keepdims=True)
        shares = np.full_like(sigmoids, 1.0 / len(self.slopes))
        np.divide(sigmoids, total, out=shares, where=total > 0)
        return shares


def _platt(
    values: NDArray[np.float64], negative: NDArray[np.float64], positive: NDArray[np.float64]
) -> tuple[float, float]:
    """Return slope and intercept of Platt's sigmoid.

    Parameters
    ----------
    values : ndarray of shape (bins,)
        Decision value of each bin.
    negative, positive : ndarray of shape (bins,)
        Number of rows of each class per bin.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - a model that only predicts does without

    negatives, positives = negative.sum(), positive.sum()
    filled = negative + positive > 0
    flat = 0.0, float(logit((positives + 1.0) / (negatives + positives + 2.0)))
    if min(negatives, positives) == 0 or np.count_nonzero(filled) == 1:
        # Nothing to tell the classes apart by, so the decision value says nothing.
        return flat
    # Without units, the fit does not depend on where the decision values lie and how far apart.
    share = (negative + positive)[filled] / (negatives + positives)
    centre = share @ values[filled]
    spread = np.sqrt(share @ np.square(values[filled] - centre))
    z = (values[filled] - centre) / spread
    # A target between 0 and 1 is a row of each class with so much weight.
    of_positive = (positive * (positives + 1.0) / (positives + 2.0) + negative / (negatives + 2.0))[filled]
    weight = np.concatenate([of_positive, (negative + positive)[filled] - of_positive])
    fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=PRECISION, max_iter=1000)
    with warnings.catch_warnings():
        # Nearly separated classes leave the loss almost flat. It goes on with L-BFGS then, which does.
        warnings.simplefilter("ignore")
        fit.fit(np.tile(z, 2)[:, None], np.repeat([1, 0], len(z)), sample_weight=weight)
    slope = fit.coef_[0, 0] / spread
    # A falling sigmoid would contradict the predictions.
    return (float(slope), float(fit.intercept_[0] - slope * centre)) if slope > 0 else flat
