"""The largest value that a site may hold in each secure sum: made at both ends from what all have agreed on.

Bounds do not travel. A site refuses a value above a bound, so a coordinator that chose the bounds could search for the
sites' values, one run after the other. They follow from constants, from the settings and from the request itself, all
of which are in the sum's name (:func:`flower_pansvm.messages.sum_name`). Where nothing is known, a sum is without a
bound and takes five words a number (:mod:`flower_pansvm.secure_sum.fixed_point`).
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flower_pansvm import messages
from flower_pansvm.cutting_planes.cuts import EVERYWHERE, LARGEST_JITTER
from flower_pansvm.cutting_planes.duals import unpack_duals
from flower_pansvm.errors import FederationError
from flower_pansvm.messages import Task
from flower_pansvm.terms import Terms

WILD = math.inf
"""Bound of results of unknown size."""

MOST_ROWS = 2**24
"""Most rows that a site trains on; a site with more refuses to take part, whatever it is asked."""

LARGEST_CELL = 2.0**20
"""Largest cell, in units of a scaling that knows its column: standard deviations, of which a cell is at most the square
root of the number of all rows away from the mean, or half ranges."""

LARGEST_RESCALED = 3.0 * LARGEST_JITTER
"""Largest random weight that a site gives a row or a cell after columns of weights were brought to the same sum."""

HEADROOM = 4.0
"""What the bounds leave for secret noise and for rounding."""

Bounds = dict[str, float]


def bounds_of(task: Task, inputs: Mapping[str, Any], terms: Terms, sites: int) -> Bounds:
    """Return the largest absolute value that a site may hold in each of a task's sums; infinite if unknown.

    Parameters
    ----------
    task : Task
        The task.
    inputs : mapping
        The request.
    terms : Terms
        The run's terms.
    sites : int
        Number of sites in the sum.

    Raises
    ------
    FederationError
        If the request is one that no coordinator of this version makes.
    """
    made: dict[str, Callable[[Mapping[str, Any], Terms, int], Bounds]] = {
        messages.CUTS.name: _cuts,
        messages.SUPPORT.name: _support,
        messages.LANDMARKS.name: _landmarks,
        messages.ASSIGN.name: _assign,
    }
    own = made[task.name](inputs, terms, sites) if task.name in made else {}
    return {name: own.get(name, task.bounds.get(name, WILD)) for name in task.summed}


def _cuts(inputs: Mapping[str, Any], terms: Terms, sites: int) -> Bounds:  # noqa: ARG001
    """Bound cuts of the RBF kernel: ||f||^2 <= k(x, x) = 1, as each site checks of the map it is told."""
    if terms.kernel != "rbf":
        return {}
    narrowest = float(np.min(inputs["width"]))
    if not narrowest > 0:
        raise FederationError(
            "A request for cutting planes has a width that is not positive. Start a new run."
        )
    rows = HEADROOM * MOST_ROWS * _heaviest(inputs)
    return {"a": rows, "curvature": LARGEST_RESCALED * rows * (1.0 / narrowest + EVERYWHERE)}


def _support(inputs: Mapping[str, Any], terms: Terms, sites: int) -> Bounds:
    """Bound the sums over support vectors: a dual variable is at most weight times the sum of those of the cuts."""
    count = HEADROOM * LARGEST_RESCALED * MOST_ROWS
    if terms.scaling == "none":
        return {"count": count}
    largest_dual = _heaviest(inputs) * max(float(np.abs(duals.beta).sum()) for duals in unpack_duals(inputs))
    return {
        "weights": HEADROOM * (largest_dual or 1.0) * _total(sites),
        "count": count,
        "total": HEADROOM * LARGEST_RESCALED * _total(sites),
        "square": HEADROOM * LARGEST_RESCALED * MOST_ROWS * sites,
    }


def _landmarks(inputs: Mapping[str, Any], terms: Terms, sites: int) -> Bounds:  # noqa: ARG001
    return {} if terms.scaling == "none" else {"centres": LARGEST_CELL}


def _assign(inputs: Mapping[str, Any], terms: Terms, sites: int) -> Bounds:  # noqa: ARG001
    weights = {"weights": HEADROOM * LARGEST_RESCALED * MOST_ROWS}
    if terms.scaling == "none":
        return weights
    return {**weights, "totals": HEADROOM * LARGEST_RESCALED * _total(sites)}


def _heaviest(inputs: Mapping[str, Any]) -> float:
    """Return the largest class weight; each site checks that all are within limits."""
    return float(max(np.max(inputs["positive_weight"]), np.max(inputs["negative_weight"])))


def _total(sites: int) -> float:
    """Return the largest sum of a scaled column's absolute cells at one site.

    Over all sites the squares of a scaled column add up to the number of rows at most, ``sites * MOST_ROWS``. A sum of
    ``MOST_ROWS`` absolute values is largest where all are the same.
    """
    return MOST_ROWS * math.sqrt(sites)
