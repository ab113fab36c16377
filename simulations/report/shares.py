"""Shares of patients with confidence intervals, from exact counts and from counts that carry noise."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import binomtest, norm

LEVEL = 0.95
"""Confidence of every interval."""


@dataclass(frozen=True)
class Share:
    """A share of patients.

    Parameters
    ----------
    right, of : float
        How many of how many patients; no whole numbers where counts carry noise.
    low, high : float
        Ends of the confidence interval.
    """

    right: float
    of: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself, from 0 to 1."""
        return self.right / self.of


@dataclass(frozen=True)
class ClassFigures:
    """How well a model tells the patients of a class from all others; None where there is nothing to count.

    Parameters
    ----------
    name : str
        The class.
    patients : float
        Test patients of the class.
    sensitivity, specificity : Share or None
        Share found of the patients of the class; share of the others that are not taken for it.
    ppv, npv : Share or None
        Share of those of whom the model says the class that have it; and of those of whom it does not, that have not.
    """

    name: str
    patients: float
    sensitivity: Share | None
    specificity: Share | None
    ppv: Share | None
    npv: Share | None


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


def class_figures(result: Mapping[str, Any]) -> list[ClassFigures]:
    """Return the figures of each class, in the order of the classes; none if the test patients were not counted."""
    classes, noise = result.get("classes") or [], result.get("count_noise") or 0.0
    confusion = result.get("confusion")
    if confusion is None:
        return [
            ClassFigures(name, right + wrong, share(right, wrong, noise), None, None, None)
            for name, (wrong, right) in zip(classes, result.get("wrong_and_right") or [], strict=False)
        ]
    return [_figures_of(name, number, confusion, noise) for number, name in enumerate(classes)]


def _figures_of(name: str, number: int, confusion: Sequence[Sequence[float]], noise: float) -> ClassFigures:
    """Return the figures of a class; where counts carry noise there are two classes, so each figure is made of two."""
    found = confusion[number][number]
    missed = sum(confusion[number]) - found
    wrongly = sum(row[number] for row in confusion) - found
    spared = sum(map(sum, confusion)) - found - missed - wrongly
    return ClassFigures(
        name,
        found + missed,
        sensitivity=share(found, missed, noise),
        specificity=share(spared, wrongly, noise),
        ppv=share(found, wrongly, noise),
        npv=share(spared, missed, noise),
    )


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


def percent(value: float) -> str:
    """Return a share as a percentage: whole, or with a digit more where it is near to none or all.

    Examples
    --------
    >>> percent(0.953), percent(0.996), percent(1.0)
    ('95%', '99.6%', '100%')
    """
    digits = 1 if 0 < value < 0.01 or 0.99 < value < 1 else 0
    text = f"{100 * value:.{digits}f}"
    return f"{'> 99.9' if text == '100.0' else '< 0.1' if text == '0.0' else text}%"


def interval(found: Share) -> str:
    """Return the confidence interval as text, such as ``84% to 99.2%``."""
    return f"{percent(found.low)} to {percent(found.high)}"


def count(number: float) -> str:
    """Return a count of patients as text.

    Examples
    --------
    >>> count(1240), count(38.6)
    ('1,240', 'about 39')
    """
    return f"{number:,.0f}" if float(number).is_integer() else f"about {number:,.0f}"
