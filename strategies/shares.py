"""Shares of rows with confidence intervals, from exact counts and from counts that carry noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scipy.stats import binomtest, norm

LEVEL = 0.95
"""Confidence of every interval."""


@dataclass(frozen=True)
class Share:
    """A share of patients."""

    right: float  # how many patients
    of: float  # of how many; neither is a whole number where counts carry noise
    low: float  # lower end of the confidence interval
    high: float  # and its upper end

    @property
    def value(self) -> float:
        """The share itself, from 0 to 1."""
        return self.right / self.of


def share(right: float, wrong: float, noise: float = 0.0) -> Share | None:
    """Return a share with its confidence interval; None if there is nobody to count.

    Of exact counts it is Wilson's. With noise it is as wide as the exact intervals (Clopper-Pearson) of all counts that
    the noise leaves possible: noise and chance share the 5 % that may go wrong, so that it holds in at least 95 % of
    cases.

    Parameters
    ----------
    right, wrong : float
        Patients counted.
    noise : float
        Standard deviation of the normal noise in each of the two; 0 if they are exact.

    Examples
    --------
    >>> found = share(8, 2)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.8, 0.49, 0.943)
    """
    right, wrong = max(right, 0.0), max(wrong, 0.0)
    if right + wrong <= 0:
        return None
    if noise == 0:
        found = binomtest(round(right), round(right + wrong)).proportion_ci(LEVEL, method="wilson")
        return Share(right, right + wrong, float(found.low), float(found.high))
    part = (1 - LEVEL) / 2
    # Both counts are within this of the true ones, but for the share of cases that is the noise's part.
    reach = noise * float(norm.isf(part / 4))
    low = _exact(math.floor(max(right - reach, 0.0)), math.ceil(wrong + reach), 1 - part)[0]
    high = _exact(math.ceil(right + reach), math.floor(max(wrong - reach, 0.0)), 1 - part)[1]
    return Share(right, right + wrong, low, high)


def _exact(right: int, wrong: int, level: float) -> tuple[float, float]:
    if right + wrong == 0:
        return 0.0, 1.0
    found = binomtest(right, right + wrong).proportion_ci(level, method="exact")
    return float(found.low), float(found.high)


def all_right(result: Mapping[str, Any]) -> Share | None:
    """Return the share of test patients of whom the model is right; None if it was not tried."""
    if result.get("accuracy") is None:
        return None
    counts, noise = result.get("confusion") or result.get("wrong_and_right"), result.get("count_noise") or 0.0
    if counts is None or noise == 0:
        right = round(result["accuracy"] * result["rows_test"])
        return share(right, result["rows_test"] - right)
    total = sum(map(sum, counts))
    # Right ones, and wrong ones, are a sum of as many noisy counts as there are classes.
    return share(result["accuracy"] * total, (1 - result["accuracy"]) * total, noise * math.sqrt(len(counts)))


def right_of_classes(result: Mapping[str, Any]) -> list[Share | None]:
    """Return of each class the share of its test rows that are predicted right; none if they were not counted."""
    noise = result.get("count_noise") or 0.0
    if (confusion := result.get("confusion")) is not None:
        pairs = [(row[number], sum(row) - row[number]) for number, row in enumerate(confusion)]
    else:
        pairs = [(right, wrong) for wrong, right in result.get("wrong_and_right") or []]
    return [share(right, wrong, noise) for right, wrong in pairs]


def balanced_interval(result: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the confidence interval of the balanced accuracy, a mean of shares of different rows.

    By the method of variance estimates recovery (Newcombe 1998; Zou and Donner 2008). None if it was not measured.
    """
    found = [one for one in right_of_classes(result) if one is not None]
    if result.get("balanced_accuracy") is None or not found:
        return None
    mean, below, above = (
        sum(one.value for one in found) / len(found),
        math.sqrt(sum((one.value - one.low) ** 2 for one in found)) / len(found),
        math.sqrt(sum((one.high - one.value) ** 2 for one in found)) / len(found),
    )
    return max(mean - below, 0.0), min(mean + above, 1.0)


def classes_not_tested(result: Mapping[str, Any]) -> list[str]:
    """Return the classes that no test row has; none where noise in the counts hides that."""
    if result.get("count_noise"):
        return []
    counted = right_of_classes(result)
    return [name for name, one in zip(result["classes"] or [], counted, strict=False) if one is None]
