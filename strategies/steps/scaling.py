"""The scaling of the features and its sums over the sites, with or without the rows of a fold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.errors import TableError
from flower_pansvm.scaling import Scaling, moments
from flower_pansvm.secure_sum.limbs import WIDE_LIMIT
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
from strategies.steps.site_differences import note_differences, range_differences

CONSTANT = 1e-12
"""Share of its mean square below which a column's variance is rounding."""


@dataclass(frozen=True)
class ColumnSums:
    """The sums of :func:`flower_pansvm.scaling.moments` over the sites, for one group of rows or for several.

    Variances come from sums of squares, so columns whose small variance matters must be centred and scaled: a spread
    below a millionth of the distance from 0 counts as 0. The fields have the shape (features,) or (groups, features).

    Examples
    --------
    >>> classes = ColumnSums(np.array([[2.0], [1.0]]), np.array([[4.0], [7.0]]), np.array([[10.0], [49.0]]))
    >>> classes.mean.ravel(), classes.variance(ddof=1).ravel()
    (array([2., 7.]), array([2., 0.]))
    """

    count: Floats  # number of cells present; not whole where rows have weights
    total: Floats  # sum of these cells
    square: Floats  # sum of their squares

    def of(self, groups: Bools | slice = slice(None)) -> "ColumnSums":
        """Return the sums over several groups together, by default all."""
        return ColumnSums(*(sums[groups].sum(axis=0) for sums in (self.count, self.total, self.square)))

    @property
    def mean(self) -> Floats:
        """Mean of each column; 0 where no cell is present."""
        return self.total / np.where(self.count > 0, self.count, 1.0)

    def variance(self, ddof: int = 0) -> Floats:
        """Return the variance of each column; never negative, and 0 for a column that is constant but for rounding.

        Parameters
        ----------
        ddof : int
            Subtracted from the number of cells in the divisor: 0 for the population's variance, 1 for the sample's.
            With at most ``ddof`` cells the variance is 0.
        """
        mean_square = self.square / np.where(self.count > 0, self.count, 1.0)
        variance = mean_square - np.square(self.mean)
        variance = np.where(variance > CONSTANT * mean_square, variance, 0.0)
        freedom = self.count - ddof
        return np.where(freedom > 0, variance * (self.count / np.where(freedom > 0, freedom, 1.0)), 0.0)

    def constant(self, columns: Sequence[str]) -> list[str]:
        """Return the names of the columns without variance: all cells are missing, or equal but for rounding."""
        return [name for name, spread in zip(columns, self.variance(), strict=True) if spread == 0]


def fit_scaling(kind: str, sums: ColumnSums, low: Floats, high: Floats) -> Scaling:
    """Return the scaling of the setting ``scaling``; missing cells are filled with the federated mean.

    Constant and empty columns become 0, except with ``none``. A column that is constant but for rounding keeps its
    unit: the sums do not show its spread.

    Parameters
    ----------
    kind : {'standard', 'minmax', 'none'}
        To mean 0 and variance 1; from the extremes to [-1, 1], as in the paper's data sets; or not at all.
    sums : ColumnSums
        Over all rows.
    low, high : ndarray of shape (features,)
        Smallest and largest cell, infinite without cells; used by ``minmax`` only.
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
    """Return the scaling of pooled rows, shape (rows, features): the same as a federation's."""
    missing = np.isnan(X)
    low, high = (np.where(missing, end, X) for end in (np.inf, -np.inf))
    return fit_scaling(kind, ColumnSums(**moments(X)), low.min(axis=0), high.max(axis=0))


@dataclass(frozen=True)
class ScaledFeatures:
    """The scaling of the features, and sums of the scaled rows."""

    scaling: Scaling
    fold: int  # held-out fold, or `NO_FOLD`
    rows: int  # training rows over all sites, without the fold's
    squares: Floats  # (features,): sum over these rows of each scaled feature's square
    sums: Floats  # (features,): sum over these rows of each scaled feature

    def variance(self, features: Bools | None = None) -> float:
        """Return the variance over all scaled cells, or over the cells of the features in a mask."""
        mask = slice(None) if features is None else features
        squares, sums = self.squares[mask], self.sums[mask]
        cells = self.rows * len(squares)
        return float(squares.sum() / cells - (sums.sum() / cells) ** 2)


@dataclass(frozen=True)
class Moments:
    """Sums over the sites' rows by fold; a run without folds has one fold."""

    rows: Floats  # (folds, classes): training rows of each class
    cells: ColumnSums  # of shape (folds, features)
    low: Floats  # (folds, features): smallest cells; infinite unless the scaling is ``minmax``
    high: Floats  # (folds, features): largest cells
    kind: str  # the setting ``scaling``
    sites: tuple[str, ...]  # the sites of these rows

    @property
    def folds(self) -> range:
        """The numbers of the folds."""
        return range(len(self.rows))

    def class_rows(self, fold: int = NO_FOLD) -> Floats:
        """Return the training rows of each class without those of a fold, shape (classes,)."""
        rows: Floats = self.rows[self._others(fold)].sum(axis=0)
        return rows

    def constant_columns(self, columns: Sequence[str]) -> list[str]:
        """Return the columns without variance over all training rows."""
        return self.cells.of().constant(columns)

    def scaled(self, fold: int = NO_FOLD) -> ScaledFeatures:
        """Return the scaling by the rows outside of a fold."""
        others = self._others(fold)
        rows, cells = float(self.class_rows(fold).sum()), self.cells.of(others)
        scaling = fit_scaling(self.kind, cells, self.low[others].min(axis=0), self.high[others].max(axis=0))
        return ScaledFeatures(scaling, fold, int(rows), *scaled_sums(scaling, rows, cells))

    def _others(self, fold: int) -> Bools:
        others: Bools = np.arange(len(self.rows)) != fold
        return others


def learn_moments(federation: Federation, scaling: str) -> Moments:
    """Return counts, sums and sums of squares by fold, by one secure sum; with ``minmax`` the extremes, too.

    Raises
    ------
    TableError
        If fewer than two classes have training rows.
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
    """Yield the relations that moments break: at most as many cells as rows, and no negative variance."""
    if (result.sums["count"] > result.sums["rows"].sum(axis=1, keepdims=True)).any():
        yield "'count' has more cells of a column than there are rows"
    if (result.sums["patients"] > [result.sums["rows"].sum(), result.sums["test_rows"].sum()]).any():
        yield "'patients' has more patients than there are rows"
    yield from result.negative_variance()


def count_rows(federation: Federation) -> Floats:
    """Return the training rows of the remaining sites, shape (folds, classes), by one secure sum."""
    rows = federation.secure_sum(ROWS, Nothing(), relations=wrong_rows).rows
    if federation.rows is not None:
        federation.rows = replace(federation.rows, train=rows, train_sites=tuple(federation.sites))
    return rows


def wrong_rows(result: AggregateResult) -> Problems:
    """Yield a problem if there are more rows than before sites dropped out."""
    known = result.request.rows
    if known is not None and (result.sums["rows"] > known.train).any():
        yield "there are more rows than before sites dropped out"


def learn_extremes(
    federation: Federation,
    task: Task[Nothing, ExtremesAnswer],
    folds: int = 1,
    held_by: Callable[[str], Bools | slice] = lambda _: slice(None),
) -> tuple[Floats, Floats]:
    """Collect each site's smallest and largest cells, and warn of sites that most likely use other units.

    Parameters
    ----------
    task : Task
        The task that discloses them.
    folds : int
        Number of folds in the replies.
    held_by : callable
        Returns the columns that a site holds; by default all.

    Returns
    -------
    low, high : ndarray of shape (folds, columns)
        Over all sites; infinite for a column without cells.

    Raises
    ------
    FederationError
        If a site's reply is invalid; it names the site.
    """
    answers = federation.collect(task, Nothing())
    shape = len(answers), folds, len(federation.columns)
    lows, highs = np.full(shape, np.inf), np.full(shape, -np.inf)
    for i, (name, answer) in enumerate(answers.items()):
        columns = held_by(name)
        check_extremes(name, answer, lows[i][:, columns].shape)
        lows[i][:, columns], highs[i][:, columns] = answer.low, answer.high
    ends = zip(lows.min(axis=1), highs.max(axis=1), strict=True)
    note_differences(federation, range_differences(federation.columns, dict(zip(answers, ends, strict=True))))
    return lows.min(axis=0), highs.max(axis=0)


def check_extremes(name: str, answer: ExtremesAnswer, shape: tuple[int, ...]) -> None:
    """Check a site's smallest and largest cells, of shape (folds, columns).

    Raises
    ------
    FederationError
        If they are invalid; it names the site.
    """
    low, high = answer.low, answer.high
    if not low.shape == high.shape == shape:
        raise refusal(name, "'low' and 'high' are not one number for each fold and column")
    empty = (low == np.inf) & (high == -np.inf)
    small = np.maximum(np.abs(low), np.abs(high)) <= WIDE_LIMIT
    if not (empty | (small & (low <= high))).all():
        raise refusal(name, "the smallest cell of a column is above its largest, not a number, or too large")


def broadcast_scalings(federation: Federation, scalings: Sequence[Scaling]) -> None:
    """Broadcast the scalings; a scaling's number is its index in the list."""
    federation.broadcast(
        SCALING,
        ScalingBroadcast(
            np.stack([scaling.fill for scaling in scalings]),
            np.stack([scaling.shift for scaling in scalings]),
            np.stack([scaling.scale for scaling in scalings]),
        ),
    )


def scaled_sums(scaling: Scaling, rows: float, cells: ColumnSums) -> tuple[Floats, Floats]:
    """Return sum of squares and sum of each scaled feature over all rows, with missing cells filled."""
    missing = rows - cells.count
    total = cells.total + missing * scaling.fill
    square = cells.square + missing * np.square(scaling.fill)
    shifted = square - 2 * scaling.shift * total + rows * np.square(scaling.shift)
    return np.maximum(shifted, 0.0) / np.square(scaling.scale), (total - rows * scaling.shift) / scaling.scale
