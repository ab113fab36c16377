"""How well a model tells the patients of each class, and shares of patients as text."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flower_pansvm.shares import Share, part_of, right_of_classes, share, share_by_patient, share_of_cells


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
    classes, confusion = result["classes"] or [], result["confusion"]
    if confusion is None:
        shares = right_of_classes(result)
        return [
            ClassFigures(name, right + wrong, one, None, None, None)
            for name, (wrong, right), one in zip(
                classes, result["wrong_and_right"] or [], shares, strict=False
            )
        ]
    return [_figures_of(result, name, number) for number, name in enumerate(classes)]


def _figures_of(result: Mapping[str, Any], name: str, number: int) -> ClassFigures:
    """Return the figures of a class."""
    confusion = result["confusion"]
    found = confusion[number][number]
    missed = sum(confusion[number]) - found
    wrongly = sum(row[number] for row in confusion) - found
    spared = sum(map(sum, confusion)) - found - missed - wrongly
    if len(confusion) == 2:
        yes, no, mistaken, clear = 3 * number, 1 + number, 2 - number, 3 - 3 * number
        return ClassFigures(
            name,
            found + missed,
            sensitivity=share_of_cells(result, [yes], [no]),
            specificity=share_of_cells(result, [clear], [mistaken]),
            ppv=share_of_cells(result, [yes], [mistaken]),
            npv=share_of_cells(result, [clear], [no]),
        )
    # Patients' counts are by class, and by right or wrong: of other rows each patient's count as one.
    return ClassFigures(
        name,
        found + missed,
        sensitivity=right_of_classes(result)[number],
        specificity=share_by_patient(result, spared, wrongly),
        ppv=share_by_patient(result, found, wrongly),
        npv=share_by_patient(result, spared, missed),
    )


def share_of_group(
    result: Mapping[str, Any], group: Mapping[str, Any], classes: Sequence[int], right: float, wrong: float
) -> Share | None:
    """Return the share of a subgroup's test rows of some classes, by its own patients where they were counted."""
    products = np.array(group.get("patient_products") or 0.0)
    if not result.get("patient_id") or not products.any():
        noise = (result["subgroups"].get("count_noise") or 0.0) * math.sqrt(len(classes))
        return share_by_patient(result, right, wrong, noise)
    rows = right + wrong
    return share(right, wrong, rows=rows * part_of(rows, float(products[np.ix_(classes, classes)].sum())))


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
