"""The equations between guessed rows and exact Hessians, and their Gauss-Newton step.

Unknown are the rows x_i and, for each Hessian of the smoothed hinge loss H_k = sum_i v_ik g_i g_i^T with
g_i = (f(x_i), 1), the non-negative factors v_ik. A Gauss-Newton step solves the linearised equations. Its matrix
consists of inner products of the g_i and of their derivatives d_ia, so that no Hessian is written out; the factors,
each of which belongs to one Hessian only, are eliminated first (variable projection).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls

from flower_pansvm.arrays import Floats, Ints
from simulations.attack.findings import ONE, TEN
from simulations.attack.knowledge import Knowledge
from simulations.attack.spaces import slopes_of_map

EXACT_SHARE = 1e-4
"""Assumed error of exact sums during the fit."""

ROUNDED = 1e-5
"""Assumed error of exact sums at the truth: at worst they have single precision."""

NEAR = 1e-3
"""Weight of the rows' distances from landmarks: small, to decide only between equal solutions."""

LEAST_WHITENED = 1e-2
"""Directions in which the Hessians are smaller than this share of the mean keep a lower weight: otherwise the fit would
follow them before the large ones."""

ROUNDING = 1e-6
"""Share added to the diagonal of the factors' matrix, which equal rows would make singular."""

BLOCK = 64
"""Rows of the matrix computed at a time."""


@dataclass
class Guess:
    """Guessed rows."""

    X: Floats  # (rows, features): the rows, scaled
    cluster: Ints  # (rows,): index of each row's landmark
    v: Floats  # (rows, Hessians): their factors in the Hessians


@dataclass(frozen=True)
class Residuals:
    """Residuals of a guess: of whitened Hessians, and of the first two moments of the features."""

    hessians: Floats  # (Hessians, rank + 1, rank + 1)
    moments: Floats  # (2, features)


@dataclass(frozen=True)
class Weights:
    """Weights of the groups of equations."""

    hessians: Floats  # (Hessians,)
    moments: Floats  # (2,)
    near: float


class Equations:
    """The equations of at least one Hessian.

    With ``whiten``, Hessians are compared in units of equal weight for all directions, otherwise by coordinate.
    """

    def __init__(self, knowledge: Knowledge, whiten: bool = True) -> None:
        self.map = knowledge.feature_map
        self.landmarks = self.map.landmarks
        self.rows = knowledge.rows
        self.total, self.square = knowledge.total, knowledge.square
        variance = self.square.mean() / self.rows - np.square(self.landmarks).mean()
        self.spread = float(np.sqrt(max(variance, 0.01)))
        mean = np.mean(knowledge.hessians, axis=0)
        scale = np.sqrt(np.maximum(np.diag(mean), np.finfo(np.float64).tiny))
        self.white = np.diag(1.0 / scale)
        if whiten:
            values, vectors = np.linalg.eigh(mean / np.outer(scale, scale))
            self.white = self.white @ (vectors / np.sqrt(np.maximum(values, LEAST_WHITENED))) @ vectors.T
        self.targets = np.array([self.white.T @ H @ self.white for H in knowledge.hessians])

    def white_g(self, X: Floats) -> Floats:
        """Return g of rows in the units of the Hessians."""
        return np.hstack([self.map.transform(X), np.ones((len(X), 1))]) @ self.white

    def white_rows(self, X: Floats) -> tuple[Floats, Floats]:
        """Return g of rows and its derivatives by each cell in the units of the Hessians."""
        return self.white_g(X), slopes_of_map(self.map, X) @ self.white[:-1]

    def residuals(self, guess: Guess) -> Residuals:
        """Return the residuals of a guess."""
        X, G = guess.X, self.white_g(guess.X)
        curvature = [target - (G.T * v) @ G for target, v in zip(self.targets, guess.v.T, strict=True)]
        moments = np.stack([self.total - X.sum(axis=0), self.square - np.square(X).sum(axis=0)])
        return Residuals(np.array(curvature), moments)

    def weights(self, residuals: Residuals) -> Weights:
        """Return the weights of the equations, lower for groups with large residuals."""
        return Weights(
            1.0 / (EXACT_SHARE**2 + np.square(residuals.hessians).mean(axis=(1, 2))),
            1.0 / (1e-4 * self.rows + np.square(residuals.moments).mean(axis=1)),
            NEAR,
        )

    def misfit(self, residuals: Residuals) -> float:
        """Return the objective behind the weights: the sum over equations of the log of their group's mean square."""
        weights = self.weights(residuals)
        misfit = np.log(weights.moments).sum() * len(self.total)
        misfit += np.log(weights.hessians).sum() * residuals.hessians[0].size / 2.0
        return -float(misfit)

    def cost(self, guess: Guess, residuals: Residuals, weights: Weights) -> float:
        """Return the weighted sum of squares."""
        cost = weights.moments @ np.square(residuals.moments).sum(axis=1)
        cost += weights.near * np.square((guess.X - self.landmarks[guess.cluster]) / self.spread).sum()
        return float(cost + weights.hessians @ np.square(residuals.hessians).sum(axis=(1, 2)))

    def factors(self, X: Floats) -> Floats:
        """Return the factors, none below 0, that fit the Hessians best, shape (rows, Hessians).

        LinAlgError if the matrix of the equations is not positive definite.
        """
        G = self.white_g(X)
        root = cholesky(_factor_matrix(G), lower=True)
        sizes = np.stack([np.einsum("ij,ij->i", G @ H, G) for H in self.targets])
        return np.column_stack(
            [_not_negative(root, solve_triangular(root, size, lower=True)) for size in sizes]
        )

    def step(self, guess: Guess, residuals: Residuals, weights: Weights, damping: float) -> Floats:
        """Return the damped Gauss-Newton step of the rows; LinAlgError if the matrix is not positive definite."""
        A, gradient = self.normal_equations(guess, residuals, weights, damping)
        moved: Floats = cho_solve(cho_factor(A, overwrite_a=True), gradient).reshape(guess.X.shape)
        return moved

    def normal_equations(
        self, guess: Guess, residuals: Residuals, weights: Weights, damping: float
    ) -> tuple[Floats, Floats]:
        """Return matrix and right-hand side for the rows' cells, without the factors above 0; others remain 0."""
        A, gradient = self._fixed_factors(guess, residuals, weights, damping)
        G, D = self.white_rows(guess.X)
        n, p = guess.X.shape
        GG, block = G @ G.T, _factor_matrix(G)
        coupling = (2.0 * (D.reshape(n * p, -1) @ G.T)).reshape(n, p, n) * GG[:, None, :]
        for k, weight in enumerate(weights.hessians):
            free = np.flatnonzero(guess.v[:, k] > 0)
            cells = (free[:, None] * p + np.arange(p)).ravel()
            root = cholesky(block[np.ix_(free, free)], lower=True, overwrite_a=True)
            of_free = coupling[free][:, :, free] * guess.v[free, k][:, None, None]
            half = solve_triangular(root, of_free.reshape(-1, len(free)).T, lower=True)
            slope = np.einsum("ij,ij->i", G @ residuals.hessians[k], G)[free]
            A[np.ix_(cells, cells)] -= weight * (half.T @ half)
            gradient[cells] -= weight * (half.T @ solve_triangular(root, slope, lower=True))
        return A, gradient

    def _fixed_factors(
        self, guess: Guess, residuals: Residuals, weights: Weights, damping: float
    ) -> tuple[Floats, Floats]:
        """Return matrix and right-hand side with fixed factors."""
        X, v = guess.X, guess.v
        n, p = X.shape
        G, D = self.white_rows(X)
        flat, GG = D.reshape(n * p, -1), G @ G.T
        DG = (flat @ G.T).reshape(n, p, n)
        both = (v * weights.hessians) @ v.T
        gradient = np.zeros((n, p))
        for k, weight in enumerate(weights.hessians):
            gradient += 2.0 * weight * v[:, k, None] * np.einsum("iar,ir->ia", D, G @ residuals.hessians[k])
        A = np.empty((n * p, n * p))
        for start in range(0, n, BLOCK):
            rows = slice(start, min(start + BLOCK, n))
            cells = slice(start * p, rows.stop * p)
            rows_of_A = (2.0 * (flat[cells] @ flat.T)).reshape(-1, p, n, p) * (both * GG)[rows, None, :, None]
            across = DG[rows][:, :, :, None] * DG[:, :, rows].transpose(2, 0, 1)[:, None, :, :]
            rows_of_A += 2.0 * across * both[rows, None, :, None]
            A[cells] = rows_of_A.reshape(-1, n * p)
        by_cell = A.reshape(n, p, n, p)
        for a in range(p):
            by_cell[:, a, :, a] += weights.moments[0] + 4.0 * weights.moments[1] * np.outer(X[:, a], X[:, a])
        gradient += (
            weights.moments[0] * residuals.moments[0] + 2.0 * weights.moments[1] * X * residuals.moments[1]
        )
        gradient += weights.near * (self.landmarks[guess.cluster] - X) / self.spread**2
        # Otherwise rows of small weight would move far, and rows of large weight hardly.
        diagonal = np.arange(n * p)
        sizes = A[diagonal, diagonal] + weights.near / self.spread**2
        A[diagonal, diagonal] = sizes + damping * np.sqrt(sizes * sizes.mean())
        return A, gradient.ravel()


def determined(knowledge: Knowledge, truth: Floats) -> tuple[int, int]:
    """Return the numbers of true scaled rows that Hessians determine to 1 and 10 % of a deviation, root mean square.

    Linearised identifiability at the truth: the rounding of the sums and a prior deviation of the column give each cell
    the least deviation of any unbiased guess.
    """
    equations = Equations(knowledge, whiten=False)
    guess = Guess(truth, np.zeros(len(truth), dtype=np.int64), equations.factors(truth))
    # Entries above the diagonal repeat those below.
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
