"""How well each feature alone separates the classes (Lu 2016, section 6.2.1), from sums over all rows.

Scores of shape (features,), a larger one is more important. A constant feature scores 0, and so does one without
enough cells on both sides; a feature that is constant on each side, at different values, scores infinity.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from scipy.special import stdtr

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.multiclass import REST, Pair
from strategies.api import ColumnSums


class ClassMoments(ColumnSums):
    """Sums of each column over the rows of each class, or of the two sides of a binary problem."""

    @property
    def varies(self) -> Bools:
        """Whether the cells of all groups together differ by more than rounding, shape (features,)."""
        return self.of().variance() > 0

    def sides(self, pair: Pair) -> Self:
        """Return the two sides of a binary problem: row 0 the positive side, row 1 the negative side."""
        return type(self)(*(_sides(sums, pair) for sums in (self.count, self.total, self.square)))


def _sides(sums: Floats, pair: Pair) -> Floats:
    positive = sums[pair.positive]
    # Adding up the others loses no digits; subtracting the class from the sum of all would.
    negative = (
        np.delete(sums, pair.positive, axis=0).sum(axis=0) if pair.negative == REST else sums[pair.negative]
    )
    return np.stack([positive, negative])


class FilterScores(NamedTuple):
    """Scores of every feature by the three filters, all of shape (features,); larger is more important, a p smaller."""

    fisher: Floats  # (6.1)
    welch: Floats  # |t| of (6.2)
    p: Floats  # of Welch's test
    scatter: Floats  # (6.3)


def by_classes(classes: ClassMoments, pairs: Sequence[Pair]) -> FilterScores:
    """Return the scores for any number of classes.

    Fisher score and |t| are summed over the binary problems. The p-value is the smallest over the problems times
    their number (Bonferroni), at most 1. The scatter ratio is one for all classes.

    Parameters
    ----------
    classes : ClassMoments
        Sums over all rows, by class.
    pairs : sequence of Pair
        The binary problems, of :func:`flower_pansvm.multiclass.one_versus_all`.
    """
    problems = [classes.sides(pair) for pair in pairs]
    fisher = np.sum([fisher_score(sides) for sides in problems], axis=0)
    welch = np.sum([welch_t(sides) for sides in problems], axis=0)
    p = np.minimum(len(problems) * np.min([welch_p(sides) for sides in problems], axis=0), 1.0)
    return FilterScores(fisher, welch, p, scatter_ratio(classes))


def fisher_score(sides: ClassMoments) -> Floats:
    """Return the Fisher score |μ+ - μ-| / (σ+² + σ-²) of equation (6.1), with the population's variances.

    As printed, the distance is not squared: unlike the other scores it depends on the feature's unit, so features
    must be scaled before.

    Parameters
    ----------
    sides : ClassMoments
        The two sides of a binary problem, of :meth:`ClassMoments.sides`.
    """
    score = _ratio(_distance(sides), sides.variance(ddof=0).sum(axis=0))
    return np.where(_enough(sides, 1), score, 0.0)


def welch_t(sides: ClassMoments) -> Floats:
    """Return |t| of Welch's test, equation (6.2); 0 where a side has fewer than two cells.

    Examples
    --------
    Sides (1, 3) and (5, 7): means 4 apart, and each side adds a variance of 2 over 2 cells.

    >>> t = welch_t(ClassMoments(np.full((2, 1), 2.0), np.array([[4.0], [12.0]]), np.array([[10.0], [74.0]])))
    >>> float(t[0]) == 4 / 2**0.5
    True
    """
    squared_error = (sides.variance(ddof=1) / np.where(sides.count > 0, sides.count, 1.0)).sum(axis=0)
    return np.where(_enough(sides, 2), _ratio(_distance(sides), np.sqrt(squared_error)), 0.0)


def welch_p(sides: ClassMoments) -> Floats:
    """Return the two-sided p-value of Welch's test, with Welch and Satterthwaite's degrees of freedom.

    It is 1 where the test is undefined, and 0 where both sides are constant at different values.
    """
    squared_errors = sides.variance(ddof=1) / np.where(sides.count > 0, sides.count, 1.0)
    # Shares of the sum neither under- nor overflow when squared. With two constant sides, t alone decides.
    shares = np.divide(
        squared_errors,
        squared_errors.sum(axis=0),
        out=np.full_like(squared_errors, 0.5),
        where=squared_errors.sum(axis=0) > 0,
    )
    freedom = 1.0 / (np.square(shares) / np.where(sides.count > 1, sides.count - 1, 1.0)).sum(axis=0)
    p_value: Floats = 2.0 * stdtr(freedom, -welch_t(sides))
    return p_value


def scatter_ratio(classes: ClassMoments) -> Floats:
    """Return the ratio S_b / S_w of the scatter between classes to that within, equation (6.3), per feature.

    As printed, S_b = Σ (μ_i - μ)² counts each class once, whatever its rows, while μ is the mean of all rows and
    S_w sums over all rows. (Weighted by the classes' rows, S_b would give the F-test's ratio.) A class without a
    cell does not count.

    Parameters
    ----------
    classes : ClassMoments
        Sums over all rows by class, any number of classes.
    """
    count = classes.count.sum(axis=0)
    overall = classes.total.sum(axis=0) / np.where(count > 0, count, 1.0)
    between = np.where(classes.count > 0, np.square(classes.mean - overall), 0.0).sum(axis=0)
    within = (classes.count * classes.variance(ddof=0)).sum(axis=0)
    return _ratio(np.where(classes.varies, between, 0.0), within)


def _distance(sides: ClassMoments) -> Floats:
    """Return the distance of the two means, 0 for a column that is constant but for rounding."""
    positive, negative = sides.mean
    return np.where(sides.varies, np.abs(positive - negative), 0.0)


def _enough(sides: ClassMoments, cells: int) -> Bools:
    enough: Bools = np.all(sides.count >= cells, axis=0)
    return enough


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """Return top / bottom for top >= 0, with 0 / 0 = 0 and x / 0 infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(top > 0, top / bottom, 0.0)
