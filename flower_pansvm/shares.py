"""Shares of rows with confidence intervals by patient, from exact counts and from counts that carry noise.

Where patients have several rows, a share is still one of rows: what a model is worth for the next visit. Its interval
says how far it can be off over other patients.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv
from scipy.stats import norm
from scipy.stats import t as student

from flower_pansvm.arrays import Floats

LEVEL = 0.95
"""Confidence of every interval."""

Z = float(norm.isf((1 - LEVEL) / 2))


@dataclass(frozen=True)
class Share:
    """A share of test rows."""

    right: float  # how many rows
    of: float  # of how many; neither is a whole number where counts carry noise
    low: float  # lower end of the confidence interval
    high: float  # and its upper end

    @property
    def value(self) -> float:
        """The share itself, from 0 to 1."""
        return self.right / self.of


def share(right: float, wrong: float, noise: float = 0.0, rows: float | None = None) -> Share | None:
    """Return a share with its confidence interval; None if there is nobody to count.

    Of exact counts it is Wilson's. With noise it is as wide as the exact intervals (Clopper-Pearson) of all counts that
    the noise leaves possible: noise and chance share the 5 % that may go wrong, so that it holds in at least 95 % of
    cases.

    Parameters
    ----------
    right, wrong : float
        Rows counted.
    noise : float
        Standard deviation of the normal noise in each of the two; 0 if they are exact.
    rows : float, optional
        As many rows of as many patients tell as much: see :func:`effective_rows`. By default all rows do.

    Examples
    --------
    >>> right = share(8, 2)
    >>> right.value, round(right.low, 3), round(right.high, 3)
    (0.8, 0.49, 0.943)
    """
    right, wrong = max(right, 0.0), max(wrong, 0.0)
    total = right + wrong
    if total <= 0:
        return None
    effective = total if rows is None else min(rows, total)
    if effective <= 0:
        return Share(right, total, 0.0, 1.0)
    if noise == 0:
        return Share(right, total, *_wilson(right / total, effective))
    right, wrong, noise = (effective / total * x for x in (right, wrong, noise))
    error = (1 - LEVEL) / 2
    # Both counts are within this of the true ones, but for the share of cases that is the noise's part.
    reach = noise * float(norm.isf(error / 4))
    low = _exact(math.floor(max(right - reach, 0.0)), math.ceil(wrong + reach), 1 - error)[0]
    high = _exact(math.ceil(right + reach), math.floor(max(wrong - reach, 0.0)), 1 - error)[1]
    return Share(right * total / effective, total, low, high)


def _wilson(value: float, rows: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of so many rows, which need not be a whole number."""
    square = Z**2 / rows
    middle = (value + square / 2) / (1 + square)
    half = math.sqrt(value * (1 - value) * square + square**2 / 4) / (1 + square)
    return (max(middle - half, 0.0) if value > 0 else 0.0), (min(middle + half, 1.0) if value < 1 else 1.0)


def _exact(right: int, wrong: int, level: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson, whose ends are quantiles of beta distributions."""
    error = (1 - level) / 2
    low = float(betaincinv(right, wrong + 1, error)) if right else 0.0
    return low, float(betaincinv(right + 1, wrong, 1 - error)) if wrong else 1.0


def cells_of(result: Mapping[str, Any]) -> Floats | None:
    """Return the test rows of a result by cell, shape (2 classes,), in the order of `patient_squares`; None without."""
    confusion = result.get("confusion")
    if confusion is None or len(confusion) == 2:
        counts = result.get("wrong_and_right") if confusion is None else confusion
        return None if counts is None else np.asarray(counts, dtype=np.float64).ravel()
    pairs = [(sum(row) - row[index], row[index]) for index, row in enumerate(confusion)]
    return np.array(pairs, dtype=np.float64).ravel()


def effective_rows(result: Mapping[str, Any], right: Sequence[int], wrong: Sequence[int]) -> float | None:
    """Return how many rows of as many patients tell as much of a share as the rows of some cells do.

    Standard errors are clustered by patient (Liang and Zeger 1986): a share is a ratio of two sums over patients, and
    its variance follows from the sums over patients of products of their counts, which is all that a coordinator
    learns. So many independent rows would have this variance (Korn and Graubard 1998); fewer, as Student's quantile
    takes the place of the normal one where patients are few. Degrees of freedom are those of as many patients as would,
    with equal numbers of rows, have these sums of squares (Carter, Schnepel and Steigerwald 2017). Where all rows or
    none are right, the rows of a patient count as one.

    At level dp there are no sums over patients. The rows of a patient that take part, at most ``rows-per-patient``,
    count as one: the interval is too wide rather than too narrow.

    Parameters
    ----------
    result : mapping
        Of a run.
    right, wrong : sequence of int
        Numbers of cells (:func:`cells_of`): the share is that of the former in both.

    Returns
    -------
    float or None
        None where each row is of another patient; 0 where nobody knows how rows go together.
    """
    cells = cells_of(result)
    if not result.get("patient_id") or cells is None:
        return None
    picked = np.zeros((2, len(cells)))
    picked[0, list(right)] = picked[1, [*right, *wrong]] = 1.0
    good, rows = (float(total) for total in picked @ np.maximum(cells, 0.0))
    if result.get("count_noise"):
        return rows / float(result["config"]["rows-per-patient"])
    if result.get("patient_squares") is None:
        return 0.0
    squares = np.asarray(result["patient_squares"], dtype=np.float64)
    together = float(picked[1] @ squares @ picked[1])
    if together <= rows:
        return None
    patients, residual = rows**2 / together, picked[0] - good / rows * picked[1]
    variance = float(residual @ squares @ residual) / rows**2 * patients / max(patients - 1, 0.5)
    independent = good * (rows - good) / rows**2 / variance if variance > 0 else patients
    return min(independent * _by_student(patients), rows)


def _by_student(patients: float) -> float:
    """Return by what to multiply rows of so few patients, so that Wilson's interval has Student's quantile."""
    return (Z / float(student.isf((1 - LEVEL) / 2, max(patients - 1, 1.0)))) ** 2


def share_of_cells(result: Mapping[str, Any], right: Sequence[int], wrong: Sequence[int]) -> Share | None:
    """Return the share of some cells' test rows in these and other cells, with its interval by patient."""
    cells = cells_of(result)
    if cells is None:
        return None
    noise = (result.get("count_noise") or 0.0) * math.sqrt(max(len(right), len(wrong)))
    good, bad = (float(cells[list(picked)].sum()) for picked in (right, wrong))
    return share(good, bad, noise, effective_rows(result, right, wrong))


def share_by_patient(
    result: Mapping[str, Any], right: float, wrong: float, noise: float = 0.0
) -> Share | None:
    """Return the share of some test rows by whatever they were counted: as many of a patient as of all test rows.

    ``noise`` is as of :func:`share`.
    """
    return share(right, wrong, noise, part_that_counts(result) * (max(right, 0.0) + max(wrong, 0.0)))


def share_by_class(
    result: Mapping[str, Any], index: int, right: float, wrong: float, noise: float = 0.0
) -> Share | None:
    """Return the share of a class's test rows by whatever they were counted: as many of a patient as of the class.

    ``index`` is that of the class; ``noise`` is as of :func:`share`.
    """
    factor = part_that_counts(result, [2 * index, 2 * index + 1])
    return share(right, wrong, noise, factor * (max(right, 0.0) + max(wrong, 0.0)))


def part_that_counts(result: Mapping[str, Any], picked: Sequence[int] | None = None) -> float:
    """Return how many patients tell as much as the rows of some cells or of all, as a share of these.

    As in :func:`effective_rows`; by class, as ill patients may come more often than others.
    """
    cells, squares = cells_of(result), result.get("patient_squares")
    if not result.get("patient_id") or cells is None:
        return 1.0
    if result.get("count_noise"):
        return 1 / float(result["config"]["rows-per-patient"])
    if squares is None:
        return 0.0
    chosen = list(range(len(cells)) if picked is None else picked)
    return part_of(float(cells[chosen].sum()), float(np.asarray(squares)[np.ix_(chosen, chosen)].sum()))


def part_of(rows: float, together: float) -> float:
    """Return the same of rows, of which the squares of each patient's number have this sum."""
    if together <= rows:
        return 1.0
    patients = rows**2 / together
    return patients / rows * _by_student(patients)


def all_right(result: Mapping[str, Any]) -> Share | None:
    """Return the share of test rows of which the model is right; None if it was not tried."""
    if result.get("accuracy") is None:
        return None
    cells, noise = cells_of(result), result.get("count_noise") or 0.0
    if cells is None:
        right = round(result["accuracy"] * result["rows_test"])
        return share(right, result["rows_test"] - right, rows=0.0 if result.get("patient_id") else None)
    right, wrong = _right_and_wrong(result)
    rows = effective_rows(result, right, wrong)
    total = float(np.maximum(cells, 0.0).sum())
    good, bad = result["accuracy"] * total, (1 - result["accuracy"]) * total
    if not noise:
        return share(round(good), round(bad), rows=rows)
    # Right ones, and wrong ones, are a sum of as many noisy counts as there are classes.
    return share(good, bad, noise * math.sqrt(len(cells) / 2), rows)


def _right_and_wrong(result: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Return the cells of rows predicted right, and those of rows predicted wrong, each in the order of classes."""
    confusion, cells = result.get("confusion"), cells_of(result)
    if confusion is not None and len(confusion) == 2:
        return [0, 3], [1, 2]
    classes = range(0 if cells is None else len(cells) // 2)
    return [2 * c + 1 for c in classes], [2 * c for c in classes]


def right_of_classes(result: Mapping[str, Any]) -> list[Share | None]:
    """Return of each class the share of its test rows that are predicted right; none if they were not counted."""
    return [
        share_of_cells(result, [right], [wrong])
        for right, wrong in zip(*_right_and_wrong(result), strict=True)
    ]


def balanced_interval(result: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the confidence interval of the balanced accuracy, a mean of shares of different rows.

    By the method of variance estimates recovery (Newcombe 1998; Zou and Donner 2008), with the correlations that the
    shares have where patients have rows of several classes. None if it was not measured.
    """
    by_class = right_of_classes(result)
    shares = [s for s in by_class if s is not None]
    if result.get("balanced_accuracy") is None or not shares:
        return None
    mean, together = sum(s.value for s in shares) / len(shares), np.eye(len(shares))
    if result.get("patient_id") and result.get("patient_squares") is not None:
        together = _correlations(result, [index for index, s in enumerate(by_class) if s is not None])
    below, above = (
        math.sqrt(max(float(gap @ together @ gap), 0.0)) / len(shares)
        for gap in (
            np.array([s.value - s.low for s in shares]),
            np.array([s.high - s.value for s in shares]),
        )
    )
    return max(mean - below, 0.0), min(mean + above, 1.0)


def _correlations(result: Mapping[str, Any], classes: Sequence[int]) -> Floats:
    """Return the correlations by patient of the shares predicted right of some classes."""
    cells, squares = cells_of(result), np.asarray(result["patient_squares"], dtype=np.float64)
    assert cells is not None
    rights, wrongs = _right_and_wrong(result)
    residuals = np.zeros((len(classes), len(cells)))
    for index, c in enumerate(classes):
        pair = [rights[c], wrongs[c]]
        residuals[index, pair] = np.array([1.0, 0.0]) - cells[pair[0]] / cells[pair].sum()
    covariances = residuals @ squares @ residuals.T
    scale = np.sqrt(np.outer(np.diag(covariances), np.diag(covariances)))
    matrix: Floats = np.where(scale > 0, covariances / np.where(scale > 0, scale, 1.0), 0.0)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def area_interval(result: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the confidence interval of the area under the ROC curve; None if it was not measured.

    Of two classes Newcombe's (2006, method 5): the areas whose standard error by Hanley and McNeil (1982), with both
    classes' numbers replaced by their mean in its second part, reaches to the one that was found. It holds for areas
    near 1, too. Where patients have several rows, as many of a class count as there are patients that tell as much. Of
    several classes the means of the ends of each class's interval: they hold however much the areas have in common.
    Noise in the counts adds its variance.
    """
    area, confusion = result.get("auc"), result.get("confusion")
    areas = [area] if confusion and len(confusion) == 2 else result.get("auc_by_class")
    if area is None or confusion is None or not areas:
        return None
    rows, classes = [float(sum(row)) for row in confusion], range(len(confusion))
    ends = []
    for index, value in zip(classes[-len(areas) :], areas, strict=True):
        cells = [2 * index, 2 * index + 1]
        others = [cell for other in classes if other != index for cell in (2 * other, 2 * other + 1)]
        if value is not None:
            parts = part_that_counts(result, cells), part_that_counts(result, others)
            ends.append(_area_ends(value, parts[0] * rows[index], parts[1] * (sum(rows) - rows[index])))
    noise = Z * (result.get("auc_noise") or 0.0)
    low, high = (sum(end) / len(ends) for end in zip(*ends, strict=True))
    return max(area - math.hypot(area - low, noise), 0.0), min(area + math.hypot(high - area, noise), 1.0)


def _area_ends(area: float, cases: float, others: float) -> tuple[float, float]:
    """Return the ends of the interval of one class's area, of so many rows with the class and without it."""
    others, cases = max(others, 1.0), max(cases, 1.0)
    more, area = (others + cases) / 2 - 1, min(max(area, 1e-9), 1 - 1e-9)

    def beyond(a: float) -> float:
        variance: float = a * (1 - a) * (1 + more * ((1 - a) / (2 - a) + a / (1 + a))) / (others * cases)
        return abs(a - area) - Z * math.sqrt(max(variance, 0.0))

    return float(brentq(beyond, 0.0, area)), float(brentq(beyond, area, 1.0))


def classes_not_tested(result: Mapping[str, Any]) -> list[str]:
    """Return the classes that no test row has; none where noise in the counts hides that."""
    if result.get("count_noise"):
        return []
    counted = right_of_classes(result)
    return [name for name, s in zip(result["classes"] or [], counted, strict=False) if s is None]
