"""Whether a sum is valid: what the coordinator checks of every sum as soon as it is opened.

A site can contribute what it likes, and a sum hides it. But counts cannot be negative, nor a loss, and each row counts
once. A sum that breaks such a rule ends the run; whose fault it is, a sum cannot say. What keeps within the rules goes
unnoticed (docs/threat-model.md). Rules for one result are declared with the field of the task's answer. Those between
several, or with earlier sums, stand beside the strategy or step that asks for the sum, which hands them over with it.
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
"""Relative error that sums of many numbers may have."""

Problems = Iterator[str]
"""Why a sum is invalid, as texts."""


@dataclass(frozen=True)
class KnownRows:
    """What earlier sums have told of the sites' rows."""

    train: Floats  # (folds, classes): training rows
    test: float  # rows kept for evaluation
    patients: Floats  # (2,): those of the training rows and of the test rows
    train_sites: tuple[str, ...]  # the sites whose training rows they are; later sums may be over fewer
    test_sites: tuple[str, ...]  # those whose test rows they are


@dataclass(frozen=True)
class Request:
    """One attempt at a secure sum, and what the coordinator knows of the answer beforehand."""

    this: SumRound  # which sum it is
    task: Task[Any, Any]
    question: Any  # what the sites are asked: the task's dataclass
    bounds: Mapping[str, float]  # largest absolute value of each result at one site; infinite if unknown
    # By how much any number of a result may be off, besides rounding, by the noise of level dp. 0 if not named.
    slack: Mapping[str, float]
    # How many there are of what a shape may name (:mod:`.shapes`); empty before the sites have joined.
    sizes: Mapping[str, int]
    rows: KnownRows | None  # what is known of the sites' rows so far
    relations: "Relations | None" = None  # what holds between the results, whatever the sites' rows are


@dataclass(frozen=True)
class AggregateResult:
    """A secure sum that has been opened."""

    request: Request  # what was asked
    sums: Mapping[str, Floats]  # the results, summed over the sites
    # Those it is over: all that were asked, unless a single one's contribution is looked at.
    sites: tuple[str, ...]

    def wrong_shape(self, **expected: tuple[int | str, ...]) -> Problems:
        """Yield which results have another shape than expected; sides as in `flower_pansvm.tasks.Shape`."""
        for name, sides in expected.items():
            shape = self.sums[name].shape
            known = [length(side, self.request.sizes) if isinstance(side, str) else side for side in sides]
            if len(shape) != len(known) or any(
                side not in (-1, own) for own, side in zip(shape, known, strict=True)
            ):
                yield f"'{name}' does not have the shape that was asked for"

    def tolerance(self, *names: str) -> float:
        """Return by how much a sum or difference of these results may be off where it should be zero."""
        bounds, slack = self.request.bounds, self.request.slack
        largest = (bounds[name] for name in names if math.isfinite(bounds[name]))
        return sum(len(self.sites) ** 2 * bound * 2.0**-60 for bound in largest) + sum(
            slack.get(name, 0.0) for name in names
        )

    def exceeds(self, name: str, most: Floats | float, *others: str) -> bool:
        """Tell whether any number of a result is above what it can be; ``others`` are results that went into that."""
        largest = np.asarray(most, dtype=np.float64)
        allowed = largest + ROUNDING * np.abs(largest) + self.tolerance(name, *others)
        return bool((self.sums[name] > allowed).any())

    def negative(self, name: str) -> bool:
        """Tell whether any number of a result that cannot be negative is."""
        return bool((self.sums[name] < -self.tolerance(name)).any())

    def not_a_count(self, name: str) -> bool:
        """Tell whether any number of a result that counts something is not a whole number, or negative."""
        counts = self.sums[name]
        return bool((counts < 0).any() or (counts != np.rint(counts)).any())

    def out_of_bounds(self, name: str) -> bool:
        """Tell whether any number of a result is larger than all sites' bounds allow."""
        bound = len(self.sites) * self.request.bounds[name] * (1 + ROUNDING)
        return bool(np.abs(self.sums[name]).max(initial=0.0) > bound + self.request.slack.get(name, 0.0))

    def negative_variance(self) -> Problems:
        """Yield if ``count``, ``total`` and ``square`` are not numbers, sums and sums of squares of the same cells."""
        count, total, square = (self.sums[name] for name in ("count", "total", "square"))
        count = count[..., None] if count.ndim < total.ndim else count
        tolerance = self.tolerance("count") * np.abs(square) + self.tolerance("square") * count
        tolerance += 2 * self.tolerance("total") * np.abs(total)
        if (np.square(total) > count * square * (1 + ROUNDING) + tolerance).any():
            yield "'total' holds a sum too large for its number of cells and sum of squares"


Relations = Callable[[AggregateResult], Problems]
"""Yields which relations between a sum's results do not hold; each check may rely on those before it."""


def check_sum(result: AggregateResult, site: str = "") -> None:
    """Check that a sum is valid.

    Parameters
    ----------
    result : AggregateResult
        The sum.
    site : str
        The site, where what one site has contributed can be seen.

    Raises
    ------
    FederationError
        If it is not. The text says which result of which task, and why.
    """
    relations = result.request.relations
    problem = next(_declared(result), None) or (next(relations(result), None) if relations else None)
    if problem is None:
        return
    task, sites = result.request.task.name, len(result.sites)
    causes = "another version of flower-pansvm, or a changed one, or its rows have changed during the run"
    if site:
        raise FederationError(
            f"What site '{site}' contributed to task '{task}' is invalid: {problem}. It runs {causes}."
        )
    raise FederationError(
        f"The sum of task '{task}' over {sites} sites is invalid: {problem}. What one site contributed is wrong: it "
        f"runs {causes}. A sum does not say which; runs without one hospital at a time do."
    )


def _declared(result: AggregateResult) -> Problems:
    """Yield which results are not what their fields declare; later checks rely on the earlier ones."""
    question = result.request.question
    for name, values in result.sums.items():
        if not np.isfinite(values).all():
            yield f"'{name}' holds something that is not a finite number"
        if result.out_of_bounds(name):
            yield f"'{name}' is larger than the bounds of all sites allow"
    for name, declared in result.request.task.declared.items():
        shape = declared.shape
        if shape is not None:
            yield from result.wrong_shape(**{name: shape(question) if callable(shape) else shape})
        if declared.count and result.not_a_count(name):
            yield f"'{name}' holds a count that is negative or not whole"
        if declared.not_negative and result.negative(name):
            yield f"'{name}' holds a number that is negative, and cannot be"
        if declared.most is not None and result.exceeds(name, declared.most(question)):
            yield f"'{name}' is larger than what was asked about"
