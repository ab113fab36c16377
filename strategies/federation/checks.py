"""The coordinator's checks of every opened sum.

A site can contribute any numbers, and a sum hides them. But counts and losses are never negative, and each row counts
once. A sum that breaks such a rule ends the run, without naming the site; a wrong contribution that keeps the rules
remains unnoticed (docs/threat-model.md). Rules for one result are declared with the field of the task's answer. Rules
between several results, or with earlier sums, come as `Relations` with the strategy's or step's request.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import FederationError
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.tasks import Task
from strategies.federation.shapes import length

ROUNDING = 1e-9
"""Allowed relative error of sums of many numbers."""

Problems = Iterator[str]
"""Reasons why a sum is invalid."""


@dataclass(frozen=True)
class KnownRows:
    """Numbers of the sites' rows, from earlier sums."""

    train: Floats  # (folds, classes): training rows
    test: float  # test rows
    patients: Floats  # (2,): patients of the training rows and of the test rows
    train_sites: tuple[str, ...]  # sites of the training rows; later sums may be over fewer
    test_sites: tuple[str, ...]  # sites of the test rows


@dataclass(frozen=True)
class Request:
    """One attempt at a secure sum, and the limits of its results."""

    sum_round: SumRound
    task: Task[Any, Any]
    question: Any  # the task's dataclass
    bounds: Mapping[str, float]  # largest absolute value of each result at one site; infinite if unknown
    # Allowed error of any number of a result by the noise of level dp, besides rounding; 0 if not named.
    slack: Mapping[str, float]
    # Values of the names in a shape (:mod:`.shapes`); empty before the sites have joined.
    sizes: Mapping[str, int]
    rows: KnownRows | None  # None before they are summed
    relations: "Relations | None" = None  # relations between the results, valid for any rows


@dataclass(frozen=True)
class AggregateResult:
    """A secure sum that has been opened."""

    request: Request
    sums: Mapping[str, Floats]  # the results, summed over the sites
    sites: tuple[str, ...]  # sites of the sum; a single one if its contribution is checked

    def wrong_shape(self, **expected: tuple[int | str, ...]) -> Problems:
        """Yield the results with another shape than expected; sides as in `flower_pansvm.tasks.Shape`."""
        for name, sides in expected.items():
            shape = self.sums[name].shape
            lengths = [length(side, self.request.sizes) if isinstance(side, str) else side for side in sides]
            if len(shape) != len(lengths) or any(
                side not in (-1, actual) for actual, side in zip(shape, lengths, strict=True)
            ):
                yield f"'{name}' does not have the requested shape"

    def tolerance(self, *names: str) -> float:
        """Return the allowed error of a sum or difference of these results that should be zero."""
        bounds, slack = self.request.bounds, self.request.slack
        largest = (bounds[name] for name in names if math.isfinite(bounds[name]))
        return sum(len(self.sites) ** 2 * bound * 2.0**-60 for bound in largest) + sum(
            slack.get(name, 0.0) for name in names
        )

    def exceeds(self, name: str, most: Floats | float, *others: str) -> bool:
        """Return whether any number of a result exceeds ``most``, which may depend on the results ``others``."""
        largest = np.asarray(most, dtype=np.float64)
        allowed = largest + ROUNDING * np.abs(largest) + self.tolerance(name, *others)
        return bool((self.sums[name] > allowed).any())

    def negative(self, name: str) -> bool:
        """Return whether any number of a result is negative, beyond the allowed error."""
        return bool((self.sums[name] < -self.tolerance(name)).any())

    def not_a_count(self, name: str) -> bool:
        """Return whether any number of a result is negative or not whole."""
        counts = self.sums[name]
        return bool((counts < 0).any() or (counts != np.rint(counts)).any())

    def out_of_bounds(self, name: str) -> bool:
        """Return whether any number of a result exceeds the sum of all sites' bounds."""
        bound = len(self.sites) * self.request.bounds[name] * (1 + ROUNDING)
        return bool(np.abs(self.sums[name]).max(initial=0.0) > bound + self.request.slack.get(name, 0.0))

    def negative_variance(self) -> Problems:
        """Yield a problem if ``count``, ``total`` and ``square`` give a negative variance."""
        count, total, square = (self.sums[name] for name in ("count", "total", "square"))
        count = count[..., None] if count.ndim < total.ndim else count
        tolerance = self.tolerance("count") * np.abs(square) + self.tolerance("square") * count
        tolerance += 2 * self.tolerance("total") * np.abs(total)
        if (np.square(total) > count * square * (1 + ROUNDING) + tolerance).any():
            yield "'total' holds a sum too large for its number of cells and sum of squares"


Relations = Callable[[AggregateResult], Problems]
"""Yields the broken relations between a sum's results; each check may rely on those before it."""


def check_sum(result: AggregateResult, site: str = "") -> None:
    """Check that a sum is valid.

    Parameters
    ----------
    site : str
        The site, if the sum is a single site's contribution.

    Raises
    ------
    FederationError
        If it is invalid. The text names task, result and reason.
    """
    relations = result.request.relations
    problem = next(_declared(result), None) or (next(relations(result), None) if relations else None)
    if problem is None:
        return
    task, sites = result.request.task.name, len(result.sites)
    causes = "another version of flower-pansvm, or a changed one, or its rows have changed during the run"
    if site:
        raise FederationError(
            f"The contribution of site '{site}' to task '{task}' is invalid: {problem}. The site runs {causes}."
        )
    raise FederationError(
        f"The sum of task '{task}' over {sites} sites is invalid: {problem}. One site's contribution is wrong: it runs "
        f"{causes}. The sum does not show which site; runs without one hospital at a time do."
    )


def _declared(result: AggregateResult) -> Problems:
    """Yield the results that break their fields' declarations; later checks rely on the earlier ones."""
    question = result.request.question
    for name, values in result.sums.items():
        if not np.isfinite(values).all():
            yield f"'{name}' holds a number that is not finite"
        if result.out_of_bounds(name):
            yield f"'{name}' is larger than the bounds of all sites allow"
    for name, declared in result.request.task.declared.items():
        shape = declared.shape
        if shape is not None:
            yield from result.wrong_shape(**{name: shape(question) if callable(shape) else shape})
        if declared.count and result.not_a_count(name):
            yield f"'{name}' holds a count that is negative or not whole"
        if declared.not_negative and result.negative(name):
            yield f"'{name}' holds a negative number, but is never negative"
        if declared.most is not None and result.exceeds(name, declared.most(question)):
            yield f"'{name}' is larger than the question allows"
