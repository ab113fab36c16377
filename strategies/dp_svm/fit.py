"""Post-processing of private sums, which costs no budget: the feature map, and the first weights."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import wrightomega

from flower_pansvm.arrays import Floats
from flower_pansvm.fourier_map import BINS, CONSTANT, EDGES, MIDDLES, FourierMap
from flower_pansvm.privacy.exact import in_turns

WIDTHS = np.diff([0.0, *EDGES, 1.0, 1.0])  # of the bins
PRIOR = WIDTHS / 2 + 0.5 / BINS
SMOOTHING = 0.05

LEAST_FREQUENCIES, MOST_FREQUENCIES = 8, 200
SMOOTHEST, ROUGHEST = 0.5, 1.5
"""Least and largest gamma of the kernel for one column; for d columns 1 / d of it."""

LEAST_LINEAR = 0.5

LEAST_SPREAD = 0.01
"""Of decision values, where noise says less."""


def shares(cells: Floats, rows: float, deviation: float) -> Floats:
    """Return the share of a column's cells in each bin, shape (columns, BINS), from noisy counts.

    The shares p of maximum posterior probability: argmin |cells - m p|² / (2 deviation²) + KL(p, prior), m the cells of
    the column. At the optimum a p + log p = c - mu with a = m² / deviation², which the Wright omega function solves;
    bisection finds the mu for which the shares add up to 1.

    Parameters
    ----------
    cells : ndarray of shape (columns, BINS)
        Noisy counts.
    rows : float
        Noisy number of rows.
    deviation : float
        Standard deviation of the noise of each count.
    """
    total, tolerance = cells.sum(axis=1, keepdims=True), 3 * deviation * math.sqrt(BINS + 1)
    # Cells are missing where there are fewer than rows, by more than the noise.
    m = np.maximum(np.where(total < rows - tolerance, total, rows), 1.0)
    a = np.square(m / deviation)
    c = m * cells / deviation**2 + np.log(PRIOR)
    high = c.max(axis=1, keepdims=True) + math.log(BINS)
    low = c.min(axis=1, keepdims=True) - a - 1

    def shares_at(mu: Floats) -> Floats:
        p: Floats = wrightomega(c - mu + np.log(a)) / a
        return p

    for _ in range(100):
        middle = (low + high) / 2
        too_large = shares_at(middle).sum(axis=1, keepdims=True) > 1
        low, high = np.where(too_large, middle, low), np.where(too_large, high, middle)
    p = shares_at(high)
    smooth: Floats = (1 - SMOOTHING) * p / p.sum(axis=1, keepdims=True) + SMOOTHING * WIDTHS
    return smooth


def fitted_map(p: Floats, low: Floats, high: Floats, counting: float, seed: int) -> FourierMap:
    """Return the feature map for columns whose cells have the shares p.

    Parameters
    ----------
    p : ndarray of shape (columns, BINS)
        As :func:`shares` returns them.
    low, high : ndarray of shape (columns,)
        Public bounds.
    counting : float
        Rows times the square root of the budget: the weight of the rows compared with the noise. The larger, the more
        features, and the less smooth and linear they are.
    seed : int
        Public seed of the frequencies.
    """
    columns = len(low)
    below = np.cumsum(p, axis=1) - p / 2
    spread = np.maximum(np.sqrt((p * np.square(below - 0.5)).sum(axis=1, keepdims=True)), 1e-3)
    mean = (p * MIDDLES).sum(axis=1)
    variance = (p * (np.square(MIDDLES - mean[:, None]) + WIDTHS**2 / 12)).sum(axis=1)
    gamma = float(np.clip(counting / 250, SMOOTHEST, ROUGHEST))
    count = int(np.clip(counting / 16, LEAST_FREQUENCIES, MOST_FREQUENCIES))
    return FourierMap(
        low=low,
        high=high,
        ranks=(below - 0.5) / spread,
        rises=np.divide(p, WIDTHS * spread, out=np.zeros_like(p), where=WIDTHS > 0),
        mean=mean,
        deviation=np.sqrt(np.maximum(variance, 1e-6)),
        frequencies=in_turns(orthogonal_frequencies(count, columns, gamma / columns, seed)),
        linear=max(LEAST_LINEAR, 1 / math.sqrt(1 + counting / 500)),
    )


def orthogonal_frequencies(count: int, columns: int, gamma: float, seed: int) -> Floats:
    """Return frequencies of the kernel exp(-gamma |x - z|²), shape (count, columns).

    They are orthogonal in blocks, with the lengths of independent ones (Yu et al. 2016).
    """
    generator = np.random.default_rng(seed)
    blocks = [np.empty((0, columns))]
    for _ in range(math.ceil(count / columns)):
        directions, _ = np.linalg.qr(generator.normal(size=(columns, columns)))
        lengths = np.linalg.norm(generator.normal(size=(columns, columns)), axis=1)
        blocks.append(directions.T * lengths[:, None])
    return math.sqrt(2 * gamma) * np.vstack(blocks)[:count]


def symmetric(diagonal: Floats, above: Floats) -> Floats:
    """Return the symmetric matrix with a diagonal and the entries above it, row by row."""
    matrix = np.diag(diagonal)
    matrix[np.triu_indices(len(diagonal), 1)] = above
    return matrix + np.triu(matrix, 1).T


@dataclass(eq=False)
class NoisyRidge:
    """Ridge regression on noisy second moments."""

    A: Floats  # (features, features): noisy sum of z z'
    B: Floats  # (features, columns): noisy sum of z y'
    # Of the noise of B and of the diagonal of A; that of other entries is sqrt(2) times smaller.
    deviation: float

    def __post_init__(self) -> None:
        values, self.vectors = np.linalg.eigh(self.A)
        self.values = np.maximum(values, 0.0)
        penalties = self.deviation * math.sqrt(2 * len(self.A)) * 2.0 ** np.arange(-3.0, 9.0)
        self.penalty = min(penalties, key=self._risk)

    def solve(self, right: Floats, penalty: float) -> Floats:
        """Return (A₊ + penalty)⁻¹ times a matrix, A₊ the matrix A with negative eigenvalues set to 0."""
        solved: Floats = self.vectors @ ((self.vectors.T @ right) / (self.values + penalty)[:, None])
        return solved

    @property
    def weights(self) -> Floats:
        """The weights of the best penalty, shape (features, columns)."""
        return self.solve(self.B, self.penalty)

    def spread(self, weights: Floats, rows: float) -> tuple[float, float]:
        """Return mean and standard deviation of the decision values of one column of weights, as the sums have it."""
        mean = float(self.A[-1] @ weights) / (rows * CONSTANT)
        variance = float(weights @ self.A @ weights) / rows - mean**2
        return mean, math.sqrt(max(variance, LEAST_SPREAD**2))

    def _risk(self, penalty: float) -> float:
        """Return an unbiased estimate of the excess of a penalty's squared loss over the least one."""
        inverse, weights = 1 / (self.values + penalty), self.solve(self.B, penalty)
        variance, trace = self.deviation**2, float(inverse.sum())
        loss = np.sum(weights * (self.A @ weights)) - 2 * np.sum(self.B * weights)
        noisy = trace * np.square(weights).sum() + np.sum(weights * self.solve(weights, penalty))
        fitted = 2 * variance * trace * weights.shape[1] + 1.6 * float((self.values * inverse).sum())
        return float(loss + fitted + variance * noisy)
