"""How well a model tells the patients of each class, and shares of patients as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strategies.shares import Share, share


@dataclass(frozen=True)
class ClassFigures:
    """How well a model tells the patients of a class from all others; None where there is nothing to count."""

    name: str  # the class
    patients: float  # test patients of the class
    sensitivity: Share | None  # of the patients of the class, those found
    specificity: Share | None  # of the others, those not taken for it
    ppv: Share | None  # of those of whom the model says the class, those that have it
    npv: Share | None  # of those of whom it does not, those that have not


def class_figures(result: Mapping[str, Any]) -> list[ClassFigures]:
    """Return the figures of each class, in the order of the classes; none if the test patients were not counted."""
    classes, noise, confusion = result["classes"] or [], result["count_noise"], result["confusion"]
    if confusion is None:
        return [
            ClassFigures(name, right + wrong, share(right, wrong, noise), None, None, None)
            for name, (wrong, right) in zip(classes, result["wrong_and_right"] or [], strict=False)
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
