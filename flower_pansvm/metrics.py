"""Accuracy figures of the federation from counts that the sites add up (:mod:`flower_pansvm.counts`)."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.counts import BINS

SMALLEST = 5
"""Rows that a group holds at the least, unless there are fewer in all, or on its side of the run's threshold."""

MOST_GROUPS = 50
"""About how many groups there are at most: with many rows each group holds more."""

SURE = 2.0
"""Standard deviations of its noise that a bin's count is above, to take part in a calibration slope."""


@dataclass(frozen=True)
class DecisionGroup:
    """Rows whose decision values lie next to each other."""

    others: float  # rows of the other classes; not whole where counts carry noise
    of_class: float  # rows of the class that the decision value is about
    # Mean of the probability that the model gives the class for these rows; None if it gives none.
    probability: float | None = None
    # Decision value from which on rows are in this group or a later one; None of the first, and where it is not known.
    least: float | None = None


def decision_groups(
    histogram: Floats,
    probabilities: Floats | None = None,
    frame: tuple[float, float] | None = None,
    threshold: float = 0.0,
) -> tuple[DecisionGroup, ...]:
    """Return the groups of a histogram of decision values, the smallest values first.

    Neighbouring bins are put together until they hold `SMALLEST` rows and a share of 1 / `MOST_GROUPS` of all. What is
    left at the end belongs to the last group. No group has rows on both sides of the threshold, as what it finds would
    then be off by rows of that group.

    Parameters
    ----------
    histogram : ndarray of shape (2, BINS)
        Rows of the other classes and of the class in each bin (:func:`flower_pansvm.counts.decision_histogram`).
    probabilities : ndarray of shape (BINS,), optional
        Probability of the class in the middle of each bin.
    frame : tuple of float, optional
        Centre and scale of the histogram.
    threshold : float
        Probability from which on the run predicts the class; 0 if it has none.
    """
    rows = histogram.sum(axis=0)
    filled = np.flatnonzero(rows)
    start = 0 if probabilities is None else int(np.searchsorted(probabilities, threshold))
    groups = [
        group for side in (filled[filled < start], filled[filled >= start]) for group in _joined(rows, side)
    ]
    return tuple(
        DecisionGroup(
            int(histogram[0, bins].sum()),
            int(histogram[1, bins].sum()),
            None if probabilities is None else float(np.average(probabilities[bins], weights=rows[bins])),
            None if frame is None or i == 0 else float(_values(np.array(bins[0] / BINS), *frame)),
        )
        for i, bins in enumerate(groups)
    )


def _joined(rows: Floats, bins: Ints) -> list[list[int]]:
    """Return some bins, shape (bins,), put together to groups, by the rows in every bin."""
    wanted = max(SMALLEST, rows.sum() / MOST_GROUPS)
    groups: list[list[int]] = []
    for index in bins.tolist():
        if not groups or rows[groups[-1]].sum() >= wanted:
            groups.append([])
        groups[-1].append(index)
    if len(groups) > 1 and rows[groups[-1]].sum() < wanted:
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups


def _values(places: Floats, centre: float, scale: float) -> Floats:
    """Return the decision values at places between the ends of a histogram, 0 and 1."""
    squashed = places * 2.0 - 1.0
    return centre + scale * squashed / (1.0 - np.abs(squashed))


def histogram_middles(centre: float = 0.0, scale: float = 1.0) -> Floats:
    """Return the decision value that stands for each bin of a histogram: the bin's middle.

    It is the middle in u / (1 + |u|), so it is finite for the first and the last bin too, which have no outer
    end: 511 scales from the centre, within reach of all the values there.

    Parameters
    ----------
    centre, scale : float
        Those of the histogram.

    Returns
    -------
    ndarray of shape (BINS,)
        In increasing order.
    """
    return _values((np.arange(BINS) + 0.5) / BINS, centre, scale)


def area_under_curve(histogram: Floats) -> float | None:
    """Return the area under the ROC curve; two rows in the same bin count as a tie.

    Parameters
    ----------
    histogram : ndarray of shape (2, BINS)
        Counts of negative and of positive rows per bin.

    Returns
    -------
    float or None
        None when one of the two classes has no test row.
    """
    negative, positive = histogram
    pairs = negative.sum() * positive.sum()
    if pairs == 0:
        return None
    below = np.cumsum(negative) - negative
    return min(float(positive @ (below + negative / 2.0) / pairs), 1.0)


def area_noise(histogram: Floats, covariance: Floats) -> float | None:
    """Return the standard deviation of the area under the curve by noise in the counts; None if there is no area.

    To second order: counts of few rows have noise as large as themselves.

    Parameters
    ----------
    histogram : ndarray of shape (2, bins)
        Counts of negative and of positive rows per bin.
    covariance : ndarray of shape (bins, bins)
        Of the noise of each row of it.
    """
    area, (negative, positive) = area_under_curve(histogram), histogram.sum(axis=1)
    if area is None:
        return None
    bins = len(covariance)
    above = (np.triu(np.ones((bins, bins)), 1) + np.eye(bins) / 2 - area) / (negative * positive)
    slopes = above @ histogram[1], histogram[0] @ above
    first = sum(float(slope @ covariance @ slope) for slope in slopes)
    return math.sqrt(max(first + float(np.trace(above @ covariance @ above.T @ covariance)), 0.0))


@dataclass(frozen=True)
class Agreement:
    """How well probabilities agree with outcomes, as TRIPOD+AI asks (Collins et al. 2024, item 12e).

    Standard errors are those of independent rows. The first two are of log odds o: the outcomes' log odds are
    ``intercept + o``, which is 0 where as many rows are of the class as the probabilities say (calibration in the
    large), and ``a + slope o``, where a slope below 1 tells that probabilities are too extreme (Cox 1958). Both are
    None where none is the most likely: rows of one class, all with one probability, or told apart without error.
    """

    intercept: float | None
    intercept_error: float | None
    slope: float | None
    slope_error: float | None
    brier: float  # mean of the squared differences of probability and outcome
    brier_error: float
    # Standard deviations by noise in the counts alone; 0 where they are exact.
    intercept_noise: float = 0.0
    slope_noise: float = 0.0
    brier_noise: float = 0.0


def agreement(
    histogram: Floats,
    probabilities: Floats,
    covariance: Floats | None = None,
) -> Agreement:
    """Return how well probabilities agree with outcomes; each row's probability is that of its bin's middle.

    Parameters
    ----------
    histogram : ndarray of shape (2, BINS)
        Rows of the other class and of the class in each bin.
    probabilities : ndarray of shape (BINS,)
        Probability of the class in the middle of each bin.
    covariance : ndarray of shape (BINS, BINS), optional
        Of the noise in the counts of each row of the histogram; by default they are exact.
    """
    filled = histogram.sum(axis=0) > 0
    (others, cases), given = histogram[:, filled], probabilities[filled].clip(1e-12, 1 - 1e-12)
    rows, odds = others + cases, np.log(given / (1 - given))
    errors = np.concatenate([np.square(given), np.square(1 - given)])
    counts = np.concatenate([others, cases])
    brier = float(np.average(errors, weights=counts))
    spread = math.sqrt(float(np.average(np.square(errors - brier), weights=counts)) / rows.sum())
    unsure = np.zeros((len(rows), len(rows))) if covariance is None else covariance[np.ix_(filled, filled)]
    large, large_error, large_noise = _logistic(np.ones((len(odds), 1)), odds, cases, rows, unsure)
    # Bins that may hold noise alone, as one beyond all rows, where probabilities are near 1, would flatten a slope.
    sure = rows >= SURE * np.sqrt(2 * np.diag(unsure))
    told, weights, unsure_ones = odds[sure], rows[sure], unsure[np.ix_(sure, sure)]
    centred = np.column_stack([np.ones(len(told)), told - told @ weights / max(weights.sum(), 1e-12)])
    slope, slope_error, slope_noise = _logistic(
        centred, np.zeros(len(told)), cases[sure], weights, unsure_ones
    )
    slopes = (np.square(given) - brier) / rows.sum(), (np.square(1 - given) - brier) / rows.sum()
    noise = math.sqrt(sum(max(float(s @ unsure @ s), 0.0) for s in slopes))
    return Agreement(large, large_error, slope, slope_error, brier, spread, large_noise, slope_noise, noise)


def _logistic(
    design: Floats,
    offset: Floats,
    cases: Floats,
    rows: Floats,
    covariance: Floats,
) -> tuple[float | None, float | None, float]:
    """Return the last coefficient of a logistic regression on counts, by Newton's method; its error, and its noise.

    Steps are bounded, as far from the optimum the whole one leads further away. None if it does not converge: then the
    most likely coefficient is not finite.
    """
    beta = np.zeros(design.shape[1])
    for reach in 8 * 0.95 ** np.arange(100):
        fitted = expit(design @ beta + offset)
        information = design.T @ (design * (rows * fitted * (1 - fitted))[:, None])
        if not np.linalg.cond(information) < 1e12:
            return None, None, 0.0
        step = np.linalg.solve(information, design.T @ (cases - rows * fitted)).clip(-reach, reach)
        beta += step
        if np.abs(step).max() < 1e-9:
            inverse = np.linalg.inv(information)
            # How the coefficient changes with a row more of the class, and with one more of the others.
            slopes = (design * (1 - fitted)[:, None]) @ inverse[-1], (design * fitted[:, None]) @ inverse[-1]
            noise = sum(max(float(s @ covariance @ s), 0.0) for s in slopes)
            # Where the fit is wrong, as with an offset of another slope than 1, rows differ by more than it says (White
            # 1982); of few rows their own spread is too small.
            spread = sum(
                float(np.square(s) @ count) for s, count in zip(slopes, (cases, rows - cases), strict=True)
            )
            return float(beta[-1]), math.sqrt(max(inverse[-1, -1], spread)), math.sqrt(noise)
    return None, None, 0.0


@dataclass(frozen=True)
class Evaluation:
    """Accuracy figures over the test rows of all sites; None where there is nothing to count."""

    rows: int  # number of test rows
    accuracy: float | None  # share of rows predicted right
    # Mean over the classes that occur of the share of their rows predicted right; None if one class occurs.
    balanced_accuracy: float | None
    # F1 of the positive class; with more than two classes the mean over those that occur, as in scikit-learn. None if
    # the rows are of one class.
    f1: float | None
    # Area under the ROC curve; with more than two classes the mean over classes, each against all others.
    auc: float | None
    confusion: tuple[tuple[float, ...], ...] | None = None  # rows of class i predicted as class j
    # Of each class the rows predicted wrong, and right, where it is not known as which class.
    wrong_and_right: tuple[tuple[float, ...], ...] | None = None
    # (2 classes, 2 classes): sums of products of patients' counts (`flower_pansvm.counts.patient_squares`); None where
    # they were not asked for.
    squares: tuple[tuple[float, ...], ...] | None = None
    count_noise: float = 0.0  # standard deviation of the noise in each of these counts; 0 if they are exact
    bin_noise: float = 0.0  # and in each count of groups
    auc_noise: float | None = None  # and in the area
    # Rows by decision value, as many as there are histograms (:mod:`flower_pansvm.metrics`).
    groups: tuple[tuple[DecisionGroup, ...], ...] = ()
    agreement: Agreement | None = None  # of the probabilities of two classes
    areas: tuple[float | None, ...] = ()  # of more than two classes, that of each against all others

    @property
    def figures(self) -> dict[str, float]:
        """The figures that are single numbers, as far as they are known, by name."""
        names = ("rows", "accuracy", "balanced_accuracy", "f1", "auc")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @classmethod
    def from_counts(
        cls,
        confusion: Floats,
        histograms: Floats,
        probabilities: Floats | None = None,
        squares: Floats | None = None,
        frame: tuple[float, float] | None = None,
        threshold: float = 0.0,
    ) -> "Evaluation":
        """Compute the figures from summed counts.

        Parameters
        ----------
        confusion : ndarray of shape (classes, classes)
            Rows of class i predicted as class j.
        histograms : ndarray of shape (columns, 2, BINS)
            Class decisions by whether the row is of the class: one column, for class 1, with two classes, else
            one per class, whether the classes were told apart one versus all or one versus one.
        probabilities : ndarray of shape (BINS,), optional
            With two classes, the probability of class 1 that the model gives in the middle of each bin.
        squares : ndarray of shape (2 classes, 2 classes), optional
            Sums of products of patients' counts.
        frame : tuple of float, optional
            With two classes, centre and scale of the histogram.
        threshold : float
            With probabilities, that from which on the run predicts class 1; 0 if it has none.
        """
        rows = int(confusion.sum())
        if rows == 0:
            return cls(0, None, None, None, None)
        right, truth, predicted = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
        seen = truth > 0
        occurs = truth + predicted > 0
        f1 = 2 * right / np.maximum(truth + predicted, 1)
        by_class = tuple(map(area_under_curve, histograms))
        areas = [area for area in by_class if area is not None]
        # Rows of one class do not tell whether a model tells classes apart.
        several = np.count_nonzero(seen) > 1
        return cls(
            rows=rows,
            accuracy=float(right.sum() / rows),
            balanced_accuracy=float(np.mean(right[seen] / truth[seen])) if several else None,
            f1=float(f1[1] if len(f1) == 2 else f1[occurs].mean()) if several else None,
            auc=float(np.mean(areas)) if areas else None,
            confusion=tuple(map(tuple, confusion.tolist())),
            squares=None if squares is None else tuple(map(tuple, squares.tolist())),
            groups=tuple(
                decision_groups(histogram, probabilities, frame, threshold) for histogram in histograms
            ),
            agreement=agreement(histograms[0], probabilities) if probabilities is not None else None,
            areas=by_class if len(by_class) > 1 else (),
        )
