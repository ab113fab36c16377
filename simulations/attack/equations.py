"""The equations that tie guessed rows to exact Hessians, and the step that fulfils them better.

Unknown are the rows x_i and, for each Hessian of the smoothed hinge loss H_k = sum_i v_ik g_i g_i^T with
g_i = (f(x_i), 1), the factors v_ik, of which is known only that they are not negative. A Gauss-Newton step solves the
equations made linear. Its matrix is written with inner products of the g_i and of their derivatives d_ia, so that
no Hessian is ever spelt out; the factors, of which each belongs to one Hessian only, are eliminated first (variable
projection).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls

from flower_pansvm.arrays import Floats
from simulations.attack.findings import ONE, TEN
from simulations.attack.knowledge import Knowledge
from simulations.attack.spaces import slopes_of_map

EXACT_SHARE = 1e-4
"""How far exact sums are trusted while the fit goes on."""

ROUNDED = 1e-5
"""How far they are trusted at the truth: at worst they are in single precision."""

NEAR = 1e-3
"""What it counts for that rows are near landmarks: enough to decide where nothing else does."""

LEAST_WHITENED = 1e-2
"""Directions in which the Hessians are smaller than this share of the mean are not made to count as much as others:
the fit would follow them before it has found the large ones."""

ROUNDING = 1e-6
"""Share by which the diagonal of the factors' matrix is enlarged: rows at the same place would make it singular."""

BLOCK = 64
"""Rows of the matrix that are made at a time."""


@dataclass
class Guess:
    """Guessed rows."""

    X: Floats  # (rows, features): the rows, scaled
    cluster: NDArray[np.int64]  # (rows,): number of the landmark each is looked for at
    v: Floats  # (rows, curvatures): their factors in the Hessians


@dataclass(frozen=True)
class Residuals:
    """By how much a guess misses what is known: whitened Hessians, and the first two moments of the features."""

    curvature: Floats  # (curvatures, rank + 1, rank + 1)
    moments: Floats  # (2, features)


@dataclass(frozen=True)
class Weights:
    """What each group of equations counts for."""

    curvature: Floats  # (curvatures,)
    moments: Floats  # (2,)
    near: float


class Equations:
    """What is known, with at least one Hessian, in the form in which guesses are held against it.

    With ``whiten``, Hessians are compared in units in which all directions count alike; else coordinate by
    coordinate.
    """

    def __init__(self, knowledge: Knowledge, whiten: bool = True) -> None:
        self.map = knowledge.feature_map
        self.landmarks = self.map.landmarks
        self.rows = knowledge.rows
        self.total, self.square = knowledge.total, knowledge.square
        variance = self.square.mean() / self.rows - np.square(self.landmarks).mean()
        self.spread = float(np.sqrt(max(variance, 0.01)))
        mean = np.mean(knowledge.curvatures, axis=0)
        scale = np.sqrt(np.maximum(np.diag(mean), np.finfo(np.float64).tiny))
        self.white = np.diag(1.0 / scale)
        if whiten:
            values, vectors = np.linalg.eigh(mean / np.outer(scale, scale))
            self.white = self.white @ (vectors / np.sqrt(np.maximum(values, LEAST_WHITENED))) @ vectors.T
        self.targets = np.array([self.white.T @ H @ self.white for H in knowledge.curvatures])

    def white_g(self, X: Floats) -> Floats:
        """Return g of rows in the units of the Hessians."""
        white: Floats = np.hstack([self.map.transform(X), np.ones((len(X), 1))]) @ self.white
        return white

    def white_rows(self, X: Floats) -> tuple[Floats, Floats]:
        """Return g of rows and its derivatives by each cell in the units of the Hessians."""
        return self.white_g(X), slopes_of_map(self.map, X) @ self.white[:-1]

    def residuals(self, guess: Guess) -> Residuals:
        """Hold a guess against all that is known."""
        X, G = guess.X, self.white_g(guess.X)
        curvature = [target - (G.T * v) @ G for target, v in zip(self.targets, guess.v.T, strict=True)]
        moments = np.stack([self.total - X.sum(axis=0), self.square - np.square(X).sum(axis=0)])
        return Residuals(np.array(curvature), moments)

    def weights(self, found: Residuals) -> Weights:
        """Return what each group of equations counts for: less where it is far from fulfilled."""
        return Weights(
            1.0 / (EXACT_SHARE**2 + np.square(found.curvature).mean(axis=(1, 2))),
            1.0 / (1e-4 * self.rows + np.square(found.moments).mean(axis=1)),
            NEAR,
        )

    def misfit(self, found: Residuals) -> float:
        """Return what the weights follow from: the sum of each equation's logarithm of its group's mean square."""
        weights = self.weights(found)
        misfit = np.log(weights.moments).sum() * len(self.total)
        misfit += np.log(weights.curvature).sum() * found.curvature[0].size / 2.0
        return -float(misfit)

    def cost(self, guess: Guess, found: Residuals, weights: Weights) -> float:
        """Return the weighted sum of squares."""
        cost = weights.moments @ np.square(found.moments).sum(axis=1)
        cost += weights.near * np.square((guess.X - self.landmarks[guess.cluster]) / self.spread).sum()
        return float(cost + weights.curvature @ np.square(found.curvature).sum(axis=(1, 2)))

    def factors(self, X: Floats) -> Floats:
        """Return the factors, none below 0, with which rows fulfil the Hessians best, shape (rows, curvatures).

        LinAlgError if the matrix of the equations is not positive definite.
        """
        G = self.white_g(X)
        root = cholesky(_factor_matrix(G), lower=True)
        sizes = np.stack([np.einsum("ij,ij->i", G @ H, G) for H in self.targets])
        return np.column_stack(
            [_not_negative(root, solve_triangular(root, size, lower=True)) for size in sizes]
        )

    def step(self, guess: Guess, found: Residuals, weights: Weights, damping: float) -> Floats:
        """Return the damped Gauss-Newton step of the rows; LinAlgError if the matrix is not positive definite."""
        A, gradient = self.normal_equations(guess, found, weights, damping)
        moved: Floats = cho_solve(cho_factor(A, overwrite_a=True), gradient).reshape(guess.X.shape)
        return moved

    def normal_equations(
        self, guess: Guess, found: Residuals, weights: Weights, damping: float
    ) -> tuple[Floats, Floats]:
        """Return matrix and right-hand side for the rows' cells, the factors eliminated.

        As long as the step is short, factors of 0 stay so: only the others are eliminated.
        """
        A, gradient = self._fixed_factors(guess, found, weights, damping)
        G, D = self.white_rows(guess.X)
        n, p = guess.X.shape
        GG, block = G @ G.T, _factor_matrix(G)
        coupling = (2.0 * (D.reshape(n * p, -1) @ G.T)).reshape(n, p, n) * GG[:, None, :]
        for k, weight in enumerate(weights.curvature):
            free = np.flatnonzero(guess.v[:, k] > 0)
            cells = (free[:, None] * p + np.arange(p)).ravel()
            root = cholesky(block[np.ix_(free, free)], lower=True, overwrite_a=True)
            own = coupling[free][:, :, free] * guess.v[free, k][:, None, None]
            half = solve_triangular(root, own.reshape(-1, len(free)).T, lower=True)
            slope = np.einsum("ij,ij->i", G @ found.curvature[k], G)[free]
            A[np.ix_(cells, cells)] -= weight * (half.T @ half)
            gradient[cells] -= weight * (half.T @ solve_triangular(root, slope, lower=True))
        return A, gradient

    def _fixed_factors(
        self, guess: Guess, found: Residuals, weights: Weights, damping: float
    ) -> tuple[Floats, Floats]:
        """Return matrix and right-hand side, the factors held fast."""
        X, v = guess.X, guess.v
        n, p = X.shape
        G, D = self.white_rows(X)
        flat, GG = D.reshape(n * p, -1), G @ G.T
        DG = (flat @ G.T).reshape(n, p, n)
        both = (v * weights.curvature) @ v.T
        gradient = np.zeros((n, p))
        for k, weight in enumerate(weights.curvature):
            gradient += 2.0 * weight * v[:, k, None] * np.einsum("iar,ir->ia", D, G @ found.curvature[k])
        A = np.empty((n * p, n * p))
        for start in range(0, n, BLOCK):
            rows = slice(start, min(start + BLOCK, n))
            cells = slice(start * p, rows.stop * p)
            part = (2.0 * (flat[cells] @ flat.T)).reshape(-1, p, n, p) * (both * GG)[rows, None, :, None]
            across = DG[rows][:, :, :, None] * DG[:, :, rows].transpose(2, 0, 1)[:, None, :, :]
            part += 2.0 * across * both[rows, None, :, None]
            A[cells] = part.reshape(-1, n * p)
        by_cell = A.reshape(n, p, n, p)
        for a in range(p):
            by_cell[:, a, :, a] += weights.moments[0] + 4.0 * weights.moments[1] * np.outer(X[:, a], X[:, a])
        gradient += weights.moments[0] * found.moments[0] + 2.0 * weights.moments[1] * X * found.moments[1]
        gradient += weights.near * (self.landmarks[guess.cluster] - X) / self.spread**2
        # Rows that hardly matter would else be thrown far away, and rows that matter would hardly move.
        diagonal = np.arange(n * p)
        sizes = A[diagonal, diagonal] + weights.near / self.spread**2
        A[diagonal, diagonal] = sizes + damping * np.sqrt(sizes * sizes.mean())
        return A, gradient.ravel()


def determined(knowledge: Knowledge, truth: Floats) -> tuple[int, int]:
    """Return how many of the true rows, scaled, Hessians determine to 1 and 10 % of a deviation, root mean square.

    At the truth the sums are made linear in the rows. With the rounding of the sums and what is known of a row
    beforehand, a deviation of its column, that gives each cell a deviation that no unbiased guess can go below.
    """
    equations = Equations(knowledge, whiten=False)
    guess = Guess(truth, np.zeros(len(truth), dtype=np.int64), equations.factors(truth))
    # Entries above the diagonal are the ones below it once more.
    exactly = np.full(len(equations.targets), 0.5 / ROUNDED**2)
    weights = Weights(exactly, np.full(2, 1.0), equations.spread**2)
    A, _ = equations.normal_equations(guess, equations.residuals(guess), weights, damping=0.0)
    covariance = cho_solve(cho_factor(A, overwrite_a=True), np.eye(len(A)), overwrite_b=True)
    variances, spread = np.diag(covariance).reshape(truth.shape), truth.std(axis=0)
    of_rows = np.sqrt((variances[:, spread > 0] / np.square(spread[spread > 0])).mean(axis=1))
    return int(np.count_nonzero(of_rows <= ONE)), int(np.count_nonzero(of_rows <= TEN))


def _not_negative(root: Floats, size: Floats) -> Floats:
    """Return the factors, none below 0, that solve ``root.T v = size`` best."""
    try:
        factors: Floats = nnls(root.T, size)[0]
    except RuntimeError:  # too many iterations: near the truth hardly a factor is below 0 without the bound
        factors = np.maximum(solve_triangular(root.T, size), 0.0)
    return factors


def _factor_matrix(G: Floats) -> Floats:
    block: Floats = np.square(G @ G.T)
    block[np.diag_indices(len(block))] *= 1.0 + ROUNDING
    return block
