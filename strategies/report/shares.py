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
    ppv: Share | None  # of those that the model takes for the class, those that have it
    npv: Share | None  # of those that it does not, those that have it not


def class_figures(result: Mapping[str, Any]) -> list[ClassFigures]:
    """Return the figures of each class, in the order of the classes; none if the test patients were not counted."""
    classes, confusion = result["classes"] or [], result["confusion"]
    if confusion is None:
        shares = right_of_classes(result)
        return [
            ClassFigures(name, right + wrong, share, None, None, None)
            for name, (wrong, right), share in zip(
                classes, result["wrong_and_right"] or [], shares, strict=False
            )
        ]
    return [_figures_of(result, name, index) for index, name in enumerate(classes)]


def _figures_of(result: Mapping[str, Any], name: str, index: int) -> ClassFigures:
    """Return the figures of a class."""
    confusion = result["confusion"]
    hits = confusion[index][index]
    missed = sum(confusion[index]) - hits
    wrongly = sum(row[index] for row in confusion) - hits
    spared = sum(map(sum, confusion)) - hits - missed - wrongly
    if len(confusion) == 2:
        yes, no, mistaken, clear = 3 * index, 1 + index, 2 - index, 3 - 3 * index
        return ClassFigures(
            name,
            hits + missed,
            sensitivity=share_of_cells(result, [yes], [no]),
            specificity=share_of_cells(result, [clear], [mistaken]),
            ppv=share_of_cells(result, [yes], [mistaken]),
            npv=share_of_cells(result, [clear], [no]),
        )
    # Patients' counts are by class, and by right or wrong: of other rows each patient's count as one.
    return ClassFigures(
        name,
        hits + missed,
        sensitivity=right_of_classes(result)[index],
        specificity=share_by_patient(result, spared, wrongly),
        ppv=share_by_patient(result, hits, wrongly),
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


def interval(share: Share) -> str:
    """Return the confidence interval as text, such as ``84% to 99.2%``."""
    return f"{percent(share.low)} to {percent(share.high)}"


def count(value: float) -> str:
    """Return a count of patients as text.

    Examples
    --------
    >>> count(1240), count(38.6)
    ('1,240', 'about 39')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"about {value:,.0f}"
