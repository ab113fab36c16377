"""Confidence intervals by patient of how well probabilities agree with outcomes."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from flower_pansvm.shares import Z, part_that_counts


def agreement_intervals(result: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Return intercept and slope of the calibration and the Brier score, each with the ends of its interval, by name.

    Empty where the model gives no probabilities of two classes; without a figure that could not be fitted. Standard
    errors are those of as many rows as there are patients that tell as much.
    """
    fit = result.get("agreement")
    if not fit:
        return {}
    part = max(part_that_counts(result), 1 / result.get("rows_test", 1))
    errors = {
        name: (fit[f"{name}_error"] or 0.0) / math.sqrt(part) for name in ("intercept", "slope", "brier")
    }
    errors["brier"] = _brier_error(result, errors["brier"], part * result.get("rows_test", 1))
    halves = {
        name: Z * math.hypot(error, fit.get(f"{name}_noise", 0.0))
        for name, error in errors.items()
        if fit[name] is not None
    }
    ends = {name: (fit[name], fit[name] - half, fit[name] + half) for name, half in halves.items()}
    if "brier" in ends:  # a mean of squares of differences of probabilities, which noise can take beyond
        value, low, high = (min(max(end, 0.0), 1.0) for end in ends["brier"])
        ends["brier"] = value, low, high
    return ends


def _brier_error(result: Mapping[str, Any], error: float, rows: float) -> float:
    """Return the standard error of a Brier score, of so many independent rows, that holds near 0, too.

    Where few rows or none go against their probability, their spread tells nothing of how many others do. As of a share
    (Agresti and Coull 1998) Z² rows more are counted, each with the outcome that its probability takes for less likely.
    """
    groups = [g for g in (result.get("decision_groups") or [()])[0] if g["probability"] is not None]
    counts = np.array([g["others"] + g["of_class"] for g in groups])
    if not counts.sum():
        return error
    given = np.array([g["probability"] for g in groups])
    gap = (
        float(np.average(np.square(np.maximum(given, 1 - given)), weights=counts))
        - result["agreement"]["brier"]
    )
    more = Z**2
    spread = (rows * rows * error**2 + more * gap**2 * rows / (rows + more)) / (rows + more)
    return max(error, math.sqrt(spread / (rows + more)))
