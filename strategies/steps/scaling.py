"""The scaling of the features, and what the sites' moments tell about the rows, with or without a fold of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.errors import TableError
from flower_pansvm.scaling import Scaling
from flower_pansvm.systems.common import EXTREMES, MOMENTS, NO_FOLD, SCALING, ScalingBroadcast
from flower_pansvm.tasks import Nothing
from strategies.federation.federation import Federation
from strategies.steps import fitted_scaling
from strategies.steps.fitted_scaling import mean_and_variance
from strategies.steps.joining import check_extremes
from strategies.steps.site_differences import range_differences, tell
from strategies.svm_settings import SvmSettings


@dataclass(frozen=True)
class ScaledFeatures:
    """The scaling of the features and what it tells about the rows of the federation.

    Parameters
    ----------
    scaling : Scaling
        The scaling.
    fold : int
        Fold whose rows had no part in it, or `NO_FOLD`.
    rows : int
        Training rows over all sites, without the fold's.
    squares : ndarray of shape (features,)
        Sum over these rows of each scaled feature's square.
    sums : ndarray of shape (features,)
        Sum over these rows of each scaled feature.
    """

    scaling: Scaling
    fold: int
    rows: int
    squares: NDArray[np.float64]
    sums: NDArray[np.float64]

    def variance(self, features: NDArray[np.bool_] | None = None) -> float:
        """Return the variance over all scaled cells, or over those of some features, picked by a mask."""
        squares, sums = (part if features is None else part[features] for part in (self.squares, self.sums))
        cells = self.rows * len(squares)
        return float(squares.sum() / cells - (sums.sum() / cells) ** 2)

    def variances(self) -> NDArray[np.float64]:
        """Return the variance of each scaled feature over all rows, shape (features,)."""
        _, variance = mean_and_variance(np.full(len(self.sums), float(self.rows)), self.sums, self.squares)
        return variance


@dataclass(frozen=True)
class Moments:
    """What the sites' rows add up to, fold by fold; one fold in a run without folds.

    Parameters
    ----------
    rows : ndarray of shape (folds, classes)
        Training rows of each class.
    test_rows : int
        Rows kept for evaluation.
    count, total, square : ndarray of shape (folds, features)
        Cells present, their sum and the sum of their squares.
    low, high : ndarray of shape (folds, features)
        Extremes; infinite unless the scaling is ``minmax``.
    kind : str
        The setting ``scaling``.
    sites : tuple of str
        The sites whose rows these are.
    """

    rows: NDArray[np.float64]
    test_rows: int
    count: NDArray[np.float64]
    total: NDArray[np.float64]
    square: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    kind: str
    sites: tuple[str, ...]

    @property
    def folds(self) -> range:
        """The numbers of the folds."""
        return range(len(self.rows))

    def class_rows(self, fold: int = NO_FOLD) -> NDArray[np.float64]:
        """Return the training rows of each class without those of a fold, shape (classes,)."""
        return cast("NDArray[np.float64]", self.rows[self._others(fold)].sum(axis=0))

    def constant_columns(self, columns: Sequence[str]) -> list[str]:
        """Return which of the columns are the same in all training rows of all sites."""
        sums = (part.sum(axis=0) for part in (self.count, self.total, self.square))
        return fitted_scaling.constant_columns(columns, *sums)

    def scaled(self, fold: int = NO_FOLD) -> ScaledFeatures:
        """Return the scaling that the rows outside of a fold give."""
        others = self._others(fold)
        rows = float(self.class_rows(fold).sum())
        count, total, square = (part[others].sum(axis=0) for part in (self.count, self.total, self.square))
        if self.kind == "minmax":
            low, high = self.low[others].min(axis=0), self.high[others].max(axis=0)
            seen = low <= high
            mean, _ = mean_and_variance(count, total, square)
            scaling = fitted_scaling.minmax(mean, np.where(seen, low, 0.0), np.where(seen, high, 0.0))
        else:
            scaling = {"standard": fitted_scaling.standard, "none": fitted_scaling.none}[self.kind](
                count, total, square
            )
        squares, sums = _scaled_sums(scaling, rows, count, total, square)
        return ScaledFeatures(
            scaling=scaling,
            fold=fold,
            rows=int(rows),
            squares=squares,
            sums=sums,
        )

    def _others(self, fold: int) -> NDArray[np.bool_]:
        others: NDArray[np.bool_] = np.arange(len(self.rows)) != fold
        return others


def learn_moments(federation: Federation, settings: SvmSettings) -> Moments:
    """Learn the sums behind mean and variance, of every fold, by one secure sum; with ``minmax`` the extremes, too.

    Raises
    ------
    TableError
        If fewer than two classes are left for training.
    """
    sums = federation.secure_sum(MOMENTS, Nothing())
    sites = tuple(federation.sites)
    if np.count_nonzero(sums.rows.sum(axis=0)) < 2:
        raise TableError(
            f"The sites' {int(sums.rows.sum())} training rows are all of one class. Lower test-fraction, or check "
            "the label column."
        )
    low, high = np.full(sums.count.shape, np.inf), np.full(sums.count.shape, -np.inf)
    if settings.scaling == "minmax":
        answers = federation.collect(EXTREMES, Nothing())
        names = {contact.node_id: name for name, contact in federation.sites.items()}
        by_site = {names[node]: answer for node, answer in answers.items()}
        check_extremes(by_site, low.shape)
        ends = {name: (one.low.min(axis=0), one.high.max(axis=0)) for name, one in by_site.items()}
        tell(federation, range_differences(federation.columns, ends))
        low = np.min([answer.low for answer in answers.values()], axis=0)
        high = np.max([answer.high for answer in answers.values()], axis=0)
    return Moments(
        rows=sums.rows,
        test_rows=int(sums.test_rows[0]),
        count=sums.count,
        total=sums.total,
        square=sums.square,
        low=low,
        high=high,
        kind=settings.scaling,
        sites=sites,
    )


def tell_scalings(federation: Federation, scaled_sets: Sequence[ScaledFeatures]) -> None:
    """Tell the sites the scalings; from now on they go by their place in the list."""
    scalings = [scaled.scaling for scaled in scaled_sets]
    federation.broadcast(
        SCALING,
        ScalingBroadcast(
            np.stack([scaling.fill for scaling in scalings]),
            np.stack([scaling.shift for scaling in scalings]),
            np.stack([scaling.scale for scaling in scalings]),
        ),
    )


def _scaled_sums(
    scaling: Scaling,
    rows: float,
    count: NDArray[np.float64],
    total: NDArray[np.float64],
    square: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sum of squares and sum of each scaled feature over all rows, missing cells filled."""
    filled = scaling.fill
    total = total + (rows - count) * filled
    square = square + (rows - count) * np.square(filled)
    shifted = square - 2 * scaling.shift * total + rows * np.square(scaling.shift)
    return np.maximum(shifted, 0.0) / np.square(scaling.scale), (total - rows * scaling.shift) / scaling.scale
