"""ROC curves and calibration from rows that are grouped by decision value."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.shares import Share, share_by_patient

BANDS = 10
"""Groups of about the same size that calibration looks at."""


@dataclass(frozen=True)
class RocCurve:
    """The ROC curve of a class against all others."""

    name: str  # the class
    # alarms, hits: (points,): share of the others that a threshold takes for the class, and of the class
    # that it finds; the strictest first.
    alarms: Floats
    hits: Floats

    @property
    def area(self) -> float:
        """Area under the curve."""
        return float(np.trapezoid(self.hits, self.alarms))


@dataclass(frozen=True)
class Band:
    """Test rows with similar decision values."""

    rows: float  # how many; not whole where counts carry noise
    probability: float  # mean probability that the model gives them
    share: Share  # share that has the class


def roc_curves(result: Mapping[str, Any]) -> list[RocCurve]:
    """Return the curve of the positive class of two, or of each class that some test patients have and others not."""
    groups, classes = result["decision_groups"], result["classes"]
    names, own = (classes[-1:], own_point(result)) if len(classes) == 2 else (classes, None)
    curves = []
    for name, column in zip(names, groups, strict=True):
        others, cases = (np.array([group[key] for group in column[::-1]]) for key in ("others", "of_class"))
        if others.sum() and cases.sum():
            alarms, hits = (
                np.concatenate([[0.0], counts.cumsum() / counts.sum()]) for counts in (others, cases)
            )
            if own is not None:
                # Its boundary may lie within a group, whose corner is cut.
                corners = np.array([alarms, hits])
                where = int(np.searchsorted(corners.sum(axis=0), own.sum()))
                # With noise in the counts it may lie beside the curve.
                if 0 < where < len(alarms) and np.all(
                    (corners[:, where - 1] <= own) & (own <= corners[:, where])
                ):
                    alarms, hits = np.insert(corners, where, own, axis=1)
            curves.append(RocCurve(name, alarms, hits))
    return curves


def own_point(result: Mapping[str, Any]) -> Floats | None:
    """Return the shares of the others and of the positive class of two that the model takes for it, if known."""
    confusion = np.array(result.get("confusion") or np.zeros((2, 2)), dtype=np.float64)
    rows = confusion.sum(axis=1)
    return confusion[:, 1] / rows if len(rows) == 2 and rows.all() else None


def bands_of(result: Mapping[str, Any], bands: int = BANDS) -> list[Band]:
    """Return neighbouring groups put together to about so many of the same size, the smallest decision values first."""
    groups = result["decision_groups"][0]
    rows = np.array([group["others"] + group["of_class"] for group in groups])
    # The band in which the middle row of each group lies.
    band_of = ((rows.cumsum() - rows / 2) * bands / rows.sum()).astype(int)
    points = []
    for band in np.unique(band_of):
        members = [group for group, where in zip(groups, band_of, strict=True) if where == band]
        of_class, others = (sum(group[key] for group in members) for key in ("of_class", "others"))
        noise = (result.get("bin_noise") or 0.0) * math.sqrt(len(members))
        measured = share_by_patient(result, of_class, others, noise)
        if measured is not None:
            given = np.average([group["probability"] for group in members], weights=rows[band_of == band])
            points.append(Band(of_class + others, float(given), measured))
    return points
