"""The scaling of the features, and what the sites' moments tell about the rows, with or without a fold of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.errors import TableError
from flower_pansvm.scaling import Scaling, moments
from flower_pansvm.secure_sum.fixed_point import WIDE_LIMIT
from flower_pansvm.systems.scaling import (
    EXTREMES,
    MOMENTS,
    NO_FOLD,
    ROWS,
    SCALING,
    ExtremesAnswer,
    ScalingBroadcast,
)
from flower_pansvm.tasks import Nothing, Task
from strategies.federation.checks import AggregateResult, KnownRows, Problems
from strategies.federation.federation import Federation
from strategies.steps.joining import refusal
from strategies.steps.site_differences import range_differences, tell

CONSTANT = 1e-12
"""A column whose variance is below this share of its mean square is constant but for rounding."""


@dataclass(frozen=True)
class ColumnSums:
    """What :func:`flower_pansvm.scaling.moments` gives, summed over the sites, of one group of rows or of several.

    Variances come from sums of squares, so cells should be centred and scaled where small ones matter: a spread below a
    millionth of the distance from 0 counts as none. The fields are of shape (features,) or (groups, features).

    Examples
    --------
    >>> classes = ColumnSums(np.array([[2.0], [1.0]]), np.array([[4.0], [7.0]]), np.array([[10.0], [49.0]]))
    >>> classes.mean.ravel(), classes.variance(ddof=1).ravel()
    (array([2., 7.]), array([2., 0.]))
    """

    count: Floats  # number of cells present; need not be whole: rows may have weights
    total: Floats  # sum of these cells
    square: Floats  # sum of their squares

    def of(self, groups: Bools | slice = slice(None)) -> "ColumnSums":
        """Return the sums over several groups together, by default all."""
        return ColumnSums(*(part[groups].sum(axis=0) for part in (self.count, self.total, self.square)))

    @property
    def mean(self) -> Floats:
        """Mean of each column; 0 where no cell is present."""
        return self.total / np.where(self.count > 0, self.count, 1.0)

    def variance(self, ddof: int = 0) -> Floats:
        """Return the variance of each column; never negative, and 0 where it is constant but for rounding.

        Parameters
        ----------
        ddof : int
            What is taken off the number of cells in the divisor: 0 for the population's variance, 1 for the
            sample's. Where no more cells than that are present, the variance is 0.
        """
        mean_square = self.square / np.where(self.count > 0, self.count, 1.0)
        variance = mean_square - np.square(self.mean)
        variance = np.where(variance > CONSTANT * mean_square, variance, 0.0)
        freedom = self.count - ddof
        return np.where(freedom > 0, variance * (self.count / np.where(freedom > 0, freedom, 1.0)), 0.0)

    def constant(self, columns: Sequence[str]) -> list[str]:
        """Return the names of the columns in which all cells are equal, missing, or as good as equal for their size."""
        return [name for name, spread in zip(columns, self.variance(), strict=True) if spread == 0]


def fit_scaling(kind: str, sums: ColumnSums, low: Floats, high: Floats) -> Scaling:
    """Return the scaling that the setting ``scaling`` names; missing cells are filled with the federated mean.

    A constant column, and one that is missing everywhere, becomes 0 but with ``none``. One that is constant but for
    rounding keeps its unit: how far its cells lie apart is not in the sums.

    Parameters
    ----------
    kind : {'standard', 'minmax', 'none'}
        To mean 0 and variance 1; of the extremes to [-1, 1], as the paper's data sets are scaled; or not at all.
    sums : ColumnSums
        Over all rows.
    low, high : ndarray of shape (features,)
        Smallest and largest cell, infinite where there is none; used by ``minmax`` only.
    """
    mean = sums.mean
    if kind == "none":
        return Scaling(mean, np.zeros_like(mean), np.ones_like(mean))
    if kind == "minmax":
        seen = low <= high
        low, high = np.where(seen, low, 0.0), np.where(seen, high, 0.0)
        shift, spread = (low + high) / 2, (high - low) / 2
    else:
        shift, spread = mean, np.sqrt(sums.variance())
    return Scaling(mean, shift, np.where(spread > 0, spread, 1.0))


def scaling_of_rows(kind: str, X: Floats) -> Scaling:
    """Return the scaling of rows in one place, shape (rows, features), as a federation finds it from its sums."""
    missing = np.isnan(X)
    low, high = (np.where(missing, end, X) for end in (np.inf, -np.inf))
    return fit_scaling(kind, ColumnSums(**moments(X)), low.min(axis=0), high.max(axis=0))


@dataclass(frozen=True)
class ScaledFeatures:
    """The scaling of the features and what it tells about the rows of the federation."""

    scaling: Scaling
    fold: int  # whose rows had no part in it, or `NO_FOLD`
    rows: int  # training rows over all sites, without the fold's
    squares: NDArray[np.float64]  # (features,): sum over these rows of each scaled feature's square
    sums: NDArray[np.float64]  # (features,): sum over these rows of each scaled feature

    def variance(self, features: NDArray[np.bool_] | None = None) -> float:
        """Return the variance over all scaled cells, or over those of some features, picked by a mask."""
        squares, sums = (part if features is None else part[features] for part in (self.squares, self.sums))
        cells = self.rows * len(squares)
        return float(squares.sum() / cells - (sums.sum() / cells) ** 2)


@dataclass(frozen=True)
class Moments:
    """What the sites' rows add up to, fold by fold; one fold in a run without folds."""

    rows: NDArray[np.float64]  # (folds, classes): training rows of each class
    cells: ColumnSums  # of shape (folds, features)
    low: NDArray[np.float64]  # (folds, features): lowest cells; infinite unless the scaling is ``minmax``
    high: NDArray[np.float64]  # (folds, features): and highest ones
    kind: str  # the setting ``scaling``
    sites: tuple[str, ...]  # the sites whose rows these are

    @property
    def folds(self) -> range:
        """The numbers of the folds."""
        return range(len(self.rows))

    def class_rows(self, fold: int = NO_FOLD) -> NDArray[np.float64]:
        """Return the training rows of each class without those of a fold, shape (classes,)."""
        return cast("NDArray[np.float64]", self.rows[self._others(fold)].sum(axis=0))

    def constant_columns(self, columns: Sequence[str]) -> list[str]:
        """Return which of the columns are the same in all training rows of all sites, or as good as for their size."""
        return self.cells.of().constant(columns)

    def scaled(self, fold: int = NO_FOLD) -> ScaledFeatures:
        """Return the scaling that the rows outside of a fold give."""
        others = self._others(fold)
        rows, cells = float(self.class_rows(fold).sum()), self.cells.of(others)
        scaling = fit_scaling(self.kind, cells, self.low[others].min(axis=0), self.high[others].max(axis=0))
        return ScaledFeatures(scaling, fold, int(rows), *_scaled_sums(scaling, rows, cells))

    def _others(self, fold: int) -> NDArray[np.bool_]:
        others: NDArray[np.bool_] = np.arange(len(self.rows)) != fold
        return others


def learn_moments(federation: Federation, scaling: str) -> Moments:
    """Learn the sums behind mean and variance, of every fold, by one secure sum; with ``minmax`` the extremes, too.

    Raises
    ------
    TableError
        If fewer than two classes are left for training.
    """
    sums = federation.secure_sum(MOMENTS, Nothing(), relations=wrong_moments)
    sites = tuple(federation.sites)
    federation.rows = KnownRows(sums.rows, float(sums.test_rows.sum()), sums.patients, sites, sites)
    if np.count_nonzero(sums.rows.sum(axis=0)) < 2:
        raise TableError(
            f"The sites' {int(sums.rows.sum())} training rows are all of one class. Lower test-fraction, or check "
            "the label column."
        )
    low, high = np.full(sums.count.shape, np.inf), np.full(sums.count.shape, -np.inf)
    if scaling == "minmax":
        low, high = learn_extremes(federation, EXTREMES, len(sums.rows))
    return Moments(
        rows=sums.rows,
        cells=ColumnSums(sums.count, sums.total, sums.square),
        low=low,
        high=high,
        kind=scaling,
        sites=sites,
    )


def wrong_moments(result: AggregateResult) -> Problems:
    """Yield what is wrong of moments: a column has no more cells than there are rows, and no negative variance."""
    if (result.sums["count"] > result.sums["rows"].sum(axis=1, keepdims=True)).any():
        yield "'count' has more cells of a column than there are rows"
    if (result.sums["patients"] > [result.sums["rows"].sum(), result.sums["test_rows"].sum()]).any():
        yield "'patients' has more patients than there are rows"
    yield from result.negative_variance()


def count_rows(federation: Federation) -> Floats:
    """Count the training rows again, shape (folds, classes): of the sites that are left."""
    rows = federation.secure_sum(ROWS, Nothing(), relations=wrong_rows).rows
    if federation.rows is not None:
        federation.rows = replace(federation.rows, train=rows, train_sites=tuple(federation.sites))
    return rows


def wrong_rows(result: AggregateResult) -> Problems:
    """Yield what is wrong of rows counted again: they are no more than before sites were lost."""
    known = result.request.rows
    if known is not None and (result.sums["rows"] > known.train).any():
        yield "there are more rows than before sites were lost"


def learn_extremes(
    federation: Federation,
    task: Task[Nothing, ExtremesAnswer],
    folds: int = 1,
    held_by: Callable[[str], Bools | slice] = lambda _: slice(None),
) -> tuple[Floats, Floats]:
    """Have each site disclose its smallest and largest cells, and warn of sites that most likely use other units.

    Parameters
    ----------
    federation : Federation
        The sites.
    task : Task
        By which they disclose them.
    folds : int
        How many folds they tell apart.
    held_by : callable
        Of a site's name, which columns it has; by default all.

    Returns
    -------
    low, high : ndarray of shape (folds, columns)
        Over all sites; infinite where no site has a cell.

    Raises
    ------
    FederationError
        If what a site disclosed cannot be; it names the site.
    """
    answers = federation.collect(task, Nothing())
    shape = len(answers), folds, len(federation.columns)
    lows, highs = np.full(shape, np.inf), np.full(shape, -np.inf)
    for place, (name, answer) in enumerate(answers.items()):
        own = held_by(name)
        check_extremes(name, answer, lows[place][:, own].shape)
        lows[place][:, own], highs[place][:, own] = answer.low, answer.high
    ends = zip(lows.min(axis=1), highs.max(axis=1), strict=True)
    tell(federation, range_differences(federation.columns, dict(zip(answers, ends, strict=True))))
    return lows.min(axis=0), highs.max(axis=0)


def check_extremes(name: str, answer: ExtremesAnswer, shape: tuple[int, ...]) -> None:
    """Check the smallest and largest cells that a site has disclosed, ``shape`` being its folds and columns.

    Raises
    ------
    FederationError
        If they cannot be; it names the site.
    """
    low, high = answer.low, answer.high
    if not low.shape == high.shape == shape:
        raise refusal(name, "'low' and 'high' are not one number for each fold and column")
    # A feature without any cell has the extremes of nothing.
    nothing = (low == np.inf) & (high == -np.inf)
    small = np.maximum(np.abs(low), np.abs(high)) <= WIDE_LIMIT
    if not (nothing | (small & (low <= high))).all():
        raise refusal(name, "the smallest cell of a column is above its largest, not a number, or too large")


def tell_scalings(federation: Federation, scalings: Sequence[Scaling]) -> None:
    """Tell the sites the scalings; from now on they go by their place in the list."""
    federation.broadcast(
        SCALING,
        ScalingBroadcast(
            np.stack([scaling.fill for scaling in scalings]),
            np.stack([scaling.shift for scaling in scalings]),
            np.stack([scaling.scale for scaling in scalings]),
        ),
    )


def _scaled_sums(
    scaling: Scaling, rows: float, cells: ColumnSums
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sum of squares and sum of each scaled feature over all rows, missing cells filled."""
    missing = rows - cells.count
    total = cells.total + missing * scaling.fill
    square = cells.square + missing * np.square(scaling.fill)
    shifted = square - 2 * scaling.shift * total + rows * np.square(scaling.shift)
    return np.maximum(shifted, 0.0) / np.square(scaling.scale), (total - rows * scaling.shift) / scaling.scale
