"""The frequencies of a random Fourier map: drawn (Rahimi and Recht 2007), or fitted to public rows (Li et al. 2014)."""

import math

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import pdist

from flower_pansvm.arrays import Floats, Ints

MOST_ROWS, PAIRS = 300, 50_000
"""Of more than ``MOST_ROWS`` public rows, ``PAIRS`` pairs are sampled."""

STARTS, ITERATIONS = 3, 200
"""Starts and most iterations of each: the objective is not convex, and the best minimum is taken."""

STREAM = 4
"""Distinguishes the frequencies from other draws by the same seed."""


def generator_of(seed: int) -> np.random.Generator:
    """Return the generator of frequencies, which are public."""
    return np.random.default_rng([seed, STREAM])


def drawn(count: int, columns: int, sigma: float, generator: np.random.Generator) -> Floats:
    """Return frequencies of the kernel exp(-|x - z|² / sigma²), normal like its transform, shape (count, columns)."""
    return generator.normal(scale=math.sqrt(2) / sigma, size=(count, columns))


def fitted(X: Floats, count: int, sigma: float, generator: np.random.Generator) -> Floats:
    """Return frequencies whose map approximates the kernel between public rows (equation 6), shape (count, columns).

    Parameters
    ----------
    X : ndarray of shape (rows, columns)
        Public rows, scaled as the map scales them.
    count : int
        Number of frequencies.
    sigma : float
        Width of the kernel exp(-|x - z|² / sigma²).
    generator : numpy.random.Generator
        Of the starts, and of sampled pairs.
    """
    rows_x, rows_z = _pairs(len(X), generator)
    differences = X[rows_x] - X[rows_z]
    kernel = np.exp(-np.square(differences).sum(axis=1) / sigma**2)
    minima = []
    for _ in range(STARTS):
        start = drawn(count, X.shape[1], sigma, generator)
        minima.append(
            minimize(
                kernel_error,
                start.ravel(),
                args=(differences, kernel),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": ITERATIONS},
            )
        )
    best: Floats = min(minima, key=lambda minimum: float(minimum.fun)).x.reshape(count, -1)
    return best


def kernel_error(flat: Floats, differences: Floats, kernel: Floats) -> tuple[float, Floats]:
    """Return the sum of squared errors of a map's kernel, and its gradient (equation 6).

    Parameters
    ----------
    flat : ndarray of shape (count * columns,)
        Frequencies.
    differences : ndarray of shape (pairs, columns)
        x - z.
    kernel : ndarray of shape (pairs,)
        The true kernel of each pair.
    """
    frequencies = flat.reshape(-1, differences.shape[1])
    angles = differences @ frequencies.T
    error = np.cos(angles).mean(axis=1) - kernel
    gradient = -2 / len(frequencies) * (np.sin(angles) * error[:, None]).T @ differences
    return float(error @ error), gradient.ravel()


def median_distance(X: Floats) -> float:
    """Return the median distance between public rows; 1 if most are the same."""
    return float(np.median(pdist(X[: 10 * MOST_ROWS]))) or 1.0


def _pairs(rows: int, generator: np.random.Generator) -> tuple[Ints, Ints]:
    if rows <= MOST_ROWS:
        first, second = np.triu_indices(rows, 1)
        return first.astype(np.int64), second.astype(np.int64)
    first = generator.integers(rows, size=PAIRS)
    return first, (first + generator.integers(1, rows, size=PAIRS)) % rows
