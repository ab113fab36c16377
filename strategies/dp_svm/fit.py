"""What the coordinator makes of private sums: a feature map, and weights to begin with. It costs no budget."""

import math

import numpy as np
from scipy.special import wrightomega

from flower_pansvm.arrays import Floats
from flower_pansvm.fourier_map import BINS, CONSTANT, MIDDLES, WIDTHS, FourierMap
from flower_pansvm.privacy.exact import in_turns

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

    The most likely ones before a prior: argmin |cells - m p|² / (2 deviation²) + KL(p, prior) over shares p, m the
    cells of the column. Where the slope is 0, a p + log p = c - mu with a = m² / deviation², which the Wright omega
    function solves; the number mu that makes the shares add up to 1 is found by bisection.

    Parameters
    ----------
    cells : ndarray of shape (columns, BINS)
        Noisy counts.
    rows : float
        Noisy number of rows.
    deviation : float
        Of the noise of each count.
    """
    counted, usual = cells.sum(axis=1, keepdims=True), 3 * deviation * math.sqrt(BINS + 1)
    # Fewer cells than rows, by more than the noise: some are missing.
    filled = np.maximum(np.where(counted < rows - usual, counted, rows), 1.0)
    steep = np.square(filled / deviation)
    slope = filled * cells / deviation**2 + np.log(PRIOR)
    high = slope.max(axis=1, keepdims=True) + math.log(BINS)
    low = slope.min(axis=1, keepdims=True) - steep - 1

    def found(level: Floats) -> Floats:
        p: Floats = wrightomega(slope - level + np.log(steep)) / steep
        return p

    for _ in range(100):
        middle = (low + high) / 2
        above = found(middle).sum(axis=1, keepdims=True) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    p = found(high)
    smooth: Floats = (1 - SMOOTHING) * p / p.sum(axis=1, keepdims=True) + SMOOTHING * WIDTHS
    return smooth


def fitted_map(p: Floats, low: Floats, high: Floats, counting: float, seed: int) -> FourierMap:
    """Return the feature map for columns whose cells are spread like this.

    Parameters
    ----------
    p : ndarray of shape (columns, BINS)
        As :func:`shares` gives them.
    low, high : ndarray of shape (columns,)
        Public ends.
    counting : float
        Rows times the square root of the budget: what the rows weigh beside the noise. The more, the more features, and
        the less smooth and linear they are.
    seed : int
        Of the frequencies; public.
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

    Orthogonal in blocks, with the lengths of independent ones (Yu et al. 2016).
    """
    generator = np.random.default_rng(seed)
    blocks = [np.empty((0, columns))]
    for _ in range(math.ceil(count / columns)):
        directions, _ = np.linalg.qr(generator.normal(size=(columns, columns)))
        lengths = np.linalg.norm(generator.normal(size=(columns, columns)), axis=1)
        blocks.append(directions.T * lengths[:, None])
    frequencies: Floats = math.sqrt(2 * gamma) * np.vstack(blocks)[:count]
    return frequencies


def symmetric(diagonal: Floats, above: Floats) -> Floats:
    """Return the matrix of a diagonal and the numbers above it, row by row."""
    matrix = np.diag(diagonal)
    matrix[np.triu_indices(len(diagonal), 1)] = above
    whole: Floats = matrix + np.triu(matrix, 1).T
    return whole


class NoisyRidge:
    """Ridge regression on noisy second moments.

    Parameters
    ----------
    A : ndarray of shape (features, features)
        Noisy sum of z z'.
    B : ndarray of shape (features, columns)
        Noisy sum of z y'.
    deviation : float
        Of the noise of B and of the diagonal of A; off it, it is sqrt(2) times smaller.
    """

    def __init__(self, A: Floats, B: Floats, deviation: float) -> None:
        self.A, self.B, self.deviation = A, B, deviation
        values, self.vectors = np.linalg.eigh(A)
        self.values = np.maximum(values, 0.0)
        self.penalty = min(self._penalties(), key=self._risk)

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

    def _penalties(self) -> Floats:
        return self.deviation * math.sqrt(2 * len(self.A)) * 2.0 ** np.arange(-3.0, 9.0)

    def _risk(self, penalty: float) -> float:
        """Return an unbiased estimate of what the squared loss of a penalty's weights exceeds the least one by."""
        inverse, weights = 1 / (self.values + penalty), self.solve(self.B, penalty)
        variance, trace = self.deviation**2, float(inverse.sum())
        loss = np.sum(weights * (self.A @ weights)) - 2 * np.sum(self.B * weights)
        blurred = trace * np.square(weights).sum() + np.sum(weights * self.solve(weights, penalty))
        fitted = 2 * variance * trace * weights.shape[1] + 1.6 * float((self.values * inverse).sum())
        return float(loss + fitted + variance * blurred)
