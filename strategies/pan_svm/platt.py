"""Platt's sigmoids, which make probabilities of decision values, fitted on counts that the sites add up.

Source: Platt 1999, "Probabilistic outputs for support vector machines", with his smoothed targets. No decision
value leaves a site: each counts its held-out ones per bin (:func:`flower_pansvm.counts.decision_histogram`).

Counts of perturbed copies give the sigmoid of true records: how often a label was drawn anew is known and part of the
likelihood, and the slope that noise in decision values flattens is divided by their reliability (regression
calibration, Carroll, Ruppert, Stefanski & Crainiceanu 2006, "Measurement Error in Nonlinear Models", chapter 4).
"""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from sklearn.linear_model import LogisticRegression

from flower_pansvm.arrays import Floats
from flower_pansvm.calibration import Calibration
from flower_pansvm.metrics import histogram_middles
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.terms import replaced_share

PRECISION = 1e-10
"""The fit ends when no component of the mean loss's gradient is larger."""

LEAST_RELIABILITY = 0.25
"""The least share of a variance that is taken for signal: what is left of a weaker one is mostly noise."""

DRAWS = 4096
"""Records that are made up, to see what noise in cells does to decision values."""

LOGISTIC_SCALE = 1.7
"""Times its argument, a normal distribution function is about the sigmoid."""


@dataclass(frozen=True)
class CopyNoise:
    """What separates held-out copies from their true records."""

    redrawn: float  # probability that a label was drawn anew, from the labels of all
    variances: Floats  # (columns,): what noise in cells adds to each class decision's variance


def copy_noise(model: PanSVC, deviations: Floats, noise: float) -> CopyNoise:
    """Return the noise in held-out copies at level ``perturbed``, as the coordinator can compute it.

    Records are made up around every landmark, with the variance that the landmarks lack, and to each noise is drawn
    twice, as it is in the copies: σ² / (1 + σ²) of each column's variance. Codes are taken for measurements: of their
    variance about as much is by codes that were drawn anew. ``deviations``, shape (features,), are those of the model's
    columns over all training copies, in the table's units; ``noise`` is σ, in deviations of the true column.
    """
    generator = np.random.default_rng(0)
    landmarks = model.feature_map_.landmarks * model.scaling_.scale + model.scaling_.shift
    spread = deviations * noise / math.sqrt(1.0 + noise**2)
    lacking = np.sqrt(np.maximum(deviations**2 - landmarks.var(axis=0) - spread**2, 0.0))
    variances = []
    for landmark in landmarks:
        draws = generator.standard_normal((3, max(1, DRAWS // len(landmarks)), len(landmark)))
        first, second = (model.decisions_of(landmark + lacking * draws[0] + spread * z) for z in draws[1:])
        variances.append(np.square(first - second).reshape(len(first), -1).mean(axis=0) / 2.0)
    return CopyNoise(replaced_share(noise), np.mean(variances, axis=0))


def calibration_of(
    histograms: Floats,
    centres: Iterable[float],
    scales: Iterable[float],
    noise: CopyNoise | None = None,
) -> Calibration:
    """Fit the sigmoids; every decision value counts as the middle of its bin.

    Parameters
    ----------
    histograms : ndarray of shape (columns, 2, BINS)
        Counts over all sites of held-out rows, negative ones first, by class decision. Rows that the model
        was trained on would give probabilities that are too sure.
    centres, scales : iterable of float, one per column
        Those of the histograms.
    noise : CopyNoise, optional
        Given where the rows are perturbed copies: the sigmoids are then those of true records.
    """
    if noise is None:
        noise = CopyNoise(0.0, np.zeros(len(histograms)))
    sigmoids = []
    for counts, centre, scale, variance in zip(histograms, centres, scales, noise.variances, strict=True):
        values, (negative, positive) = histogram_middles(centre, scale), counts
        slope, intercept = _platt(values, negative, positive, noise.redrawn)
        sigmoids.append(_of_true_decisions(values, negative + positive, variance, slope, intercept))
    return Calibration(*np.array(sigmoids).T)


def _platt(values: Floats, negative: Floats, positive: Floats, redrawn: float) -> tuple[float, float]:
    """Return slope and intercept of Platt's sigmoid.

    Parameters
    ----------
    values : ndarray of shape (bins,)
        Decision value of each bin.
    negative, positive : ndarray of shape (bins,)
        Number of rows of each class per bin.
    redrawn : float
        Probability that a row's class was drawn anew.
    """
    negatives, positives = negative.sum(), positive.sum()
    filled = negative + positive > 0
    flat = 0.0, float(logit((positives + 1.0) / (negatives + positives + 2.0)))
    if min(negatives, positives) == 0 or np.count_nonzero(filled) == 1:
        # Nothing to tell the classes apart by, so the decision value says nothing.
        return flat
    # Without units, the fit does not depend on where the decision values lie and how far apart.
    share = (negative + positive)[filled] / (negatives + positives)
    centre = float(share @ values[filled])
    spread = float(np.sqrt(share @ np.square(values[filled] - centre)))
    z = (values[filled] - centre) / spread
    # A target between 0 and 1 is a row of each class with so much weight.
    counted = np.stack([negative, positive])[:, filled]
    smoothed = counted / (np.array([[negatives], [positives]]) + 2.0)
    slope, intercept = _logistic(z, counted - smoothed + smoothed[::-1])
    if redrawn:
        slope, intercept = _logistic_of_redrawn(
            z, counted - smoothed, smoothed[::-1], redrawn, (slope, intercept)
        )
    slope /= spread
    # A falling sigmoid would contradict the predictions.
    return (slope, intercept - slope * centre) if slope > 0 else flat


def _logistic(z: Floats, weights: Floats) -> tuple[float, float]:
    """Return slope and intercept of a logistic regression; weights of class 0 and 1 have shape (2, rows)."""
    fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=PRECISION, max_iter=1000)
    with warnings.catch_warnings():
        # Nearly separated classes leave the loss almost flat. It goes on with L-BFGS then, which does.
        warnings.simplefilter("ignore")
        fit.fit(np.tile(z, 2)[:, None], np.repeat([0, 1], len(z)), sample_weight=weights.ravel())
    return float(fit.coef_[0, 0]), float(fit.intercept_[0])


def _logistic_of_redrawn(
    z: Floats,
    counted: Floats,
    smoothed: Floats,
    redrawn: float,
    start: tuple[float, float],
) -> tuple[float, float]:
    """Return slope and intercept of the true labels' sigmoid p, where labels were drawn anew with a probability r.

    A label is then 1 with probability q = (1 - r) p + r s, where s is the share of 1 among all. Counted rows have the
    likelihood of q, and the part of a row that smooths a target that of p: without it p could become a step.

    Parameters
    ----------
    z : ndarray of shape (rows,)
    counted, smoothed : ndarray of shape (2, rows)
        Weights of rows of class 0 and 1.
    redrawn : float
        r.
    start : (float, float)
        Slope and intercept where r is 0.
    """
    share, total = counted[1].sum() / counted.sum(), counted.sum()

    def loss(sigmoid: Floats) -> tuple[float, Floats]:
        """Return the mean negative log-likelihood and its gradient."""
        f = sigmoid[0] * z + sigmoid[1]
        p, rest = expit(f), expit(-f)
        q = np.stack([(1 - redrawn) * rest + redrawn * (1 - share), (1 - redrawn) * p + redrawn * share])
        value = (counted * np.log(q)).sum() + (smoothed * log_expit(np.stack([-f, f]))).sum()
        by_f = (
            (1 - redrawn) * p * rest * (counted[1] / q[1] - counted[0] / q[0])
            + smoothed[1] * rest
            - smoothed[0] * p
        )
        return float(-value / total), -np.array([by_f @ z, by_f.sum()]) / total

    slope, intercept = minimize(loss, start, jac=True, method="BFGS").x
    return float(slope), float(intercept)


def _of_true_decisions(
    values: Floats, rows: Floats, variance: float, slope: float, intercept: float
) -> tuple[float, float]:
    """Return the sigmoid of decisions without noise of a variance, given that of decisions d with it.

    The mean of the former, given d, is m + λ (d - m), where m is the mean of d and λ the share of its variance that is
    not noise: their slope is 1 / λ times as steep. What d leaves open of them, λ times the noise, flattens a sigmoid
    further: the mean of a sigmoid over a normal distribution is nearly a sigmoid again.
    """
    if not variance or not slope:
        return slope, intercept
    share = rows / rows.sum()
    mean = float(share @ values)
    reliability = max(1.0 - variance / float(share @ np.square(values - mean)), LEAST_RELIABILITY)
    slope, intercept = slope / reliability, intercept - slope * (1.0 / reliability - 1.0) * mean
    flattened = 1.0 - slope**2 * reliability * variance / LOGISTIC_SCALE**2
    factor = math.sqrt(max(flattened, LEAST_RELIABILITY))
    return slope / factor, intercept / factor
