"""The equations that tie guessed rows to what the coordinator has, and the step that fulfils them better.

Unknown are the rows x_i and, for each curvature H_k = sum_i v_ik g_i g_i^T with g_i = (f(x_i), 1), the factors v_ik. A
Gauss-Newton step solves the equations made linear. Its matrix is written with inner products of the g_i and of their
derivatives d_ia, so that no curvature is ever spelt out; the factors, of which each belongs to one curvature only, are
eliminated first (Schur complement).
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls

from flower_pansvm.cutting_planes.cuts import EVERYWHERE
from flower_pansvm.nystroem import NystromMap
from simulations.attack.guess import Guess, Residuals, Weights
from simulations.attack.knowledge import Floats, Knowledge, spread_about

EXACT_SHARE, EXACT_SLOPE = 1e-4, 1e-3
"""How far exact sums are trusted: the rest is for what is not modelled, such as selections that are not yet right."""

NEAR = 1e-3
"""What it counts for that rows are near landmarks: enough to decide where nothing else does."""

LEAST_WHITENED = 1e-2
"""Directions in which the curvatures are smaller than this share of the mean are not made to count as much as others:
the fit would follow them before it has found the large ones."""

ROUNDING = 1e-6
"""Share by which the diagonal of the factors' matrix is enlarged: rows at the same place would make it singular."""

BLOCK = 64
"""Rows of the matrix that are made at a time."""


class Equations:
    """What is known, in the form in which guesses are held against it.

    Parameters
    ----------
    knowledge : Knowledge
        What the coordinator has.
    whiten : bool
        Whether curvatures are compared in units in which all directions count alike; else coordinate by coordinate.
    """

    def __init__(self, knowledge: Knowledge, whiten: bool = True) -> None:
        self.map = knowledge.feature_map
        self.landmarks = self.map.landmarks
        self.rows, self.features = knowledge.rows, self.landmarks.shape[1]
        self.curvatures = knowledge.curvatures
        self.points = np.vstack([one.question.points for one in knowledge.asked])
        self.a = np.vstack([one.cuts.a for one in knowledge.asked])
        self.loss = np.concatenate([one.cuts.loss for one in knowledge.asked])
        sizes = np.sqrt(np.square(self.map.transform(self.landmarks)).mean(axis=0)) * np.sqrt(self.map.rank)
        self.slope_unit, self.loss_unit = EXACT_SLOPE * sizes, EXACT_SLOPE
        self.total, self.square = knowledge.total, knowledge.square
        self.spread = spread_about(self.landmarks, self.rows, self.square)
        self._choose_units(whiten)

    def _choose_units(self, whiten: bool) -> None:
        """Find the units in which curvatures are compared: those of their mean."""
        if not self.curvatures:
            return
        mean = np.mean([H for _, H in self.curvatures], axis=0)
        scale = np.sqrt(np.maximum(np.diag(mean), np.finfo(np.float64).tiny))
        self.white = np.diag(1.0 / scale)
        if whiten:
            values, vectors = np.linalg.eigh(mean / np.outer(scale, scale))
            self.white = self.white @ (vectors / np.sqrt(np.maximum(values, LEAST_WHITENED))) @ vectors.T
        self.targets = np.array([self.white.T @ H @ self.white for _, H in self.curvatures])

    def mapped(self, X: Floats) -> Floats:
        """Return f of rows, shape (rows, rank)."""
        return self.map.transform(X)

    def derivatives(self, X: Floats) -> Floats:
        """Return the derivatives of f by each cell, shape (rows, features, rank); of the rbf kernel only."""
        return slopes_of_map(self.map, X)

    def white_g(self, F: Floats) -> Floats:
        """Return g of rows in the units of the curvatures."""
        white: Floats = np.hstack([F, np.ones((len(F), 1))]) @ self.white
        return white

    def residuals(self, guess: Guess, same: Residuals | None = None) -> Residuals:
        """Hold a guess against all that is known.

        With ``same``, rows are in the same cuts, and their factors are expected to be the same, as there: what a step
        has been made for.
        """
        X, y = guess.X, guess.y
        F = self.mapped(X)
        z = 1.0 - y[:, None] * (F @ self.points[:, :-1].T + self.points[:, -1])
        selected = same.selected if same else self.selected(z) * y[:, None]
        curvature, expected = np.empty((0, 0, 0)), np.empty((len(X), 0))
        if self.curvatures:
            G = self.white_g(F)
            curvature = np.array(
                [target - (G.T * v) @ G for target, v in zip(self.targets, guess.v.T, strict=True)]
            )
            expected = same.expected if same else self.bumps(F, y)
        counts = np.maximum(np.bincount(guess.cluster, minlength=len(self.landmarks)), 1)
        means = np.zeros(self.landmarks.shape)
        np.add.at(means, guess.cluster, X)
        return Residuals(
            curvature,
            (self.a - selected.T @ F) / self.slope_unit,
            (self.loss - (np.abs(selected) * z).sum(axis=0)) / self.loss_unit,
            self.landmarks - means / counts[:, None],
            np.stack([self.total - X.sum(axis=0), self.square - np.square(X).sum(axis=0)]),
            selected,
            expected,
        )

    def selected(self, z: Floats) -> Floats:
        """Return c of rows, shape (rows, cuts)."""
        return (z > 0).astype(np.float64)

    def bumps(self, F: Floats, y: Floats) -> Floats:
        """Return what the factors of rows are, shape (rows, curvatures); of the floor its mean."""
        columns = []
        for question, _ in self.curvatures:
            z = 1.0 - y * (F @ question.centre[:-1] + question.centre[-1])
            part = min(1.0, len(question.centre) / self.rows)
            columns.append(
                np.maximum(0.0, 1.0 - np.abs(z) / question.width) / question.width + EVERYWHERE * part
            )
        return np.column_stack(columns)

    def weights(self, found: Residuals, joint: bool) -> Weights:
        """Return what each group of equations counts for: less where it is far from fulfilled.

        Unless all are to be fulfilled jointly, cuts and expected factors count for nothing: they say who is near the
        margin, and as long as the rows are far off, that is mostly wrong. Who is behind a landmark is a guess
        throughout, so landmarks are no more than where rows are looked for.
        """
        cuts = len(self.a)
        return Weights(
            1.0 / (EXACT_SHARE**2 + np.square(found.curvature).mean(axis=(1, 2)))
            if len(found.curvature)
            else np.empty(0),
            1.0 / (1.0 + np.square(found.slopes).mean(axis=1)) if joint else np.zeros(cuts),
            1.0 / (1.0 + np.square(found.losses)) if joint else np.zeros(cuts),
            np.zeros(len(self.landmarks)),
            1.0 / (1e-4 * self.rows + np.square(found.moments).mean(axis=1)),
            1.0 if joint else 0.0,
            NEAR,
        )

    def misfit(self, found: Residuals, joint: bool) -> float:
        """Return what the weights follow from: the sum of each equation's logarithm of its group's mean square."""
        weights = self.weights(found, joint)
        misfit = -np.log(weights.moments).sum() * self.features
        if len(found.curvature):
            misfit -= np.log(weights.curvature).sum() * found.curvature[0].size / 2.0
        if joint:
            misfit -= np.log(weights.slopes).sum() * found.slopes.shape[1] + np.log(weights.losses).sum()
        return float(misfit)

    def cost(self, guess: Guess, found: Residuals, weights: Weights) -> float:
        """Return the weighted sum of squares."""
        cost = weights.slopes @ np.square(found.slopes).sum(axis=1)
        cost += weights.losses @ np.square(found.losses)
        cost += weights.means @ np.square(found.means).sum(axis=1)
        cost += weights.moments @ np.square(found.moments).sum(axis=1)
        cost += weights.near * np.square((guess.X - self.landmarks[guess.cluster]) / self.spread).sum()
        if len(found.curvature):
            cost += weights.curvature @ np.square(found.curvature).sum(axis=(1, 2))
            cost += weights.expected * np.square((guess.v - found.expected) / _slack(found.expected)).sum()
        return float(cost)

    def step(self, guess: Guess, found: Residuals, weights: Weights, damping: float) -> tuple[Floats, Floats]:
        """Return the damped Gauss-Newton step of rows and factors; free factors are left to `free_factors`.

        Raises
        ------
        LinAlgError
            If rounding leaves the matrix not positive definite.
        """
        if self.curvatures and weights.expected == 0:
            return self._step_of_free_factors(guess, found, weights, damping), np.zeros(guess.v.shape)
        A, gradient, factors = self.reduced(guess, found, weights, damping)
        moved = cho_solve(cho_factor(A, overwrite_a=True), gradient)
        changes = [cho_solve((root, True), slope - coupling.T @ moved) for root, coupling, slope in factors]
        return moved.reshape(guess.X.shape), np.column_stack(changes) if changes else np.zeros(guess.v.shape)

    def reduced(
        self, guess: Guess, found: Residuals, weights: Weights, damping: float
    ) -> tuple[Floats, Floats, list[tuple[Floats, Floats, Floats]]]:
        """Return matrix and right-hand side for the cells when the factors follow, and what the factors follow from."""
        A, gradient = self.normal_equations(guess, found, weights, damping)
        factors = []
        if self.curvatures:
            G, D = self.white_rows(guess.X)
        for k in range(len(self.curvatures)):
            block, coupling, slope = self._factor_block(k, guess, found, weights, G, D, damping)
            root = cholesky(block, lower=True, overwrite_a=True)
            half = solve_triangular(root, coupling.T, lower=True)
            A -= half.T @ half
            gradient -= half.T @ solve_triangular(root, slope, lower=True)
            factors.append((root, coupling, slope))
        return A, gradient, factors

    def free_factors(self, X: Floats) -> Floats:
        """Return the factors, none below 0, with which rows fulfil the curvatures best, shape (rows, curvatures).

        Raises
        ------
        LinAlgError
            If they are not found.
        """
        G = self.white_g(self.mapped(X))
        root = cholesky(self._factor_matrix(G), lower=True)
        sizes = np.stack([np.einsum("ij,ij->i", G @ H, G) for H in self.targets])
        try:
            found = [nnls(root.T, solve_triangular(root, size, lower=True))[0] for size in sizes]
        except RuntimeError as error:
            raise LinAlgError(str(error)) from error
        return np.column_stack(found)

    def _step_of_free_factors(
        self, guess: Guess, found: Residuals, weights: Weights, damping: float
    ) -> Floats:
        """Return the step of the rows where nothing is expected of the factors, which follow from `free_factors`.

        As long as the step is short, factors of 0 stay so: only the others are eliminated (variable projection).
        """
        A, gradient = self.normal_equations(guess, found, weights, damping)
        G, D = self.white_rows(guess.X)
        n, p = guess.X.shape
        GG, block = G @ G.T, self._factor_matrix(G)
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
        moved: Floats = cho_solve(cho_factor(A, overwrite_a=True), gradient).reshape(n, p)
        return moved

    def _factor_matrix(self, G: Floats) -> Floats:
        block: Floats = np.square(G @ G.T)
        block[np.diag_indices(len(block))] *= 1.0 + ROUNDING
        return block

    def normal_equations(
        self, guess: Guess, found: Residuals, weights: Weights, damping: float
    ) -> tuple[Floats, Floats]:
        """Return matrix and right-hand side for the rows' cells, the factors held fast."""
        X, v = guess.X, guess.v
        n, p = X.shape
        D = self.derivatives(X)
        cut_D = (D / self.slope_unit).reshape(n * p, -1)
        together = (found.selected * weights.slopes) @ found.selected.T
        gradient = np.einsum(
            "iar,ir->ia", cut_D.reshape(n, p, -1), (found.selected * weights.slopes) @ found.slopes
        )
        loss_D = (
            -np.einsum("iar,tr->iat", D, self.points[:, :-1]) * found.selected[:, None, :] / self.loss_unit
        )
        gradient += loss_D @ (weights.losses * found.losses)
        loss_D = loss_D.reshape(n * p, -1)
        if self.curvatures:
            G, white_D = self.white_rows(X)
            flat, GG = white_D.reshape(n * p, -1), G @ G.T
            DG = (flat @ G.T).reshape(n, p, n)
            both = (v * weights.curvature) @ v.T
            for k, weight in enumerate(weights.curvature):
                gradient += (
                    2.0 * weight * v[:, k, None] * np.einsum("iar,ir->ia", white_D, G @ found.curvature[k])
                )
        A = np.empty((n * p, n * p))
        for start in range(0, n, BLOCK):
            rows = slice(start, min(start + BLOCK, n))
            cells = slice(start * p, min(start + BLOCK, n) * p)
            size = rows.stop - rows.start
            part = (cut_D[cells] @ cut_D.T).reshape(size, p, n, p) * together[rows, None, :, None]
            if self.curvatures:
                part += (2.0 * (flat[cells] @ flat.T)).reshape(size, p, n, p) * (both * GG)[
                    rows, None, :, None
                ]
                across = DG[rows][:, :, :, None] * DG[:, :, rows].transpose(2, 0, 1)[:, None, :, :]
                part += 2.0 * across * both[rows, None, :, None]
            A[cells] = part.reshape(size * p, n * p) + (loss_D[cells] * weights.losses) @ loss_D.T
        self._add_rows_themselves(A, gradient, guess, found, weights)
        # Rows that hardly matter would else be thrown far away, and rows that matter would hardly move.
        diagonal = np.arange(n * p)
        sizes = A[diagonal, diagonal]
        A[diagonal, diagonal] += damping * np.sqrt(sizes * sizes.mean())
        return A, gradient.ravel()

    def _add_rows_themselves(
        self, A: Floats, gradient: Floats, guess: Guess, found: Residuals, weights: Weights
    ) -> None:
        """Add the equations about cells and not their maps: landmarks, moments, and that rows are near landmarks."""
        X = guess.X
        n, p = X.shape
        by_cell = A.reshape(n, p, n, p)
        counts = np.maximum(np.bincount(guess.cluster, minlength=len(self.landmarks)), 1)
        for one, count in enumerate(counts):
            members = np.flatnonzero(guess.cluster == one)
            for a in range(p):
                cells = members * p + a
                A[np.ix_(cells, cells)] += weights.means[one] / count**2
            gradient[members] += weights.means[one] * found.means[one] / count
        for a in range(p):
            by_cell[:, a, :, a] += weights.moments[0] + 4.0 * weights.moments[1] * np.outer(X[:, a], X[:, a])
        gradient += weights.moments[0] * found.moments[0] + 2.0 * weights.moments[1] * X * found.moments[1]
        diagonal = np.arange(n * p)
        A[diagonal, diagonal] += weights.near / self.spread**2
        gradient += weights.near * (self.landmarks[guess.cluster] - X) / self.spread**2

    def white_rows(self, X: Floats) -> tuple[Floats, Floats]:
        """Return g of rows and its derivatives by each cell in the units of the curvatures."""
        return self.white_g(self.mapped(X)), self.derivatives(X) @ self.white[:-1]

    def _factor_block(
        self, k: int, guess: Guess, found: Residuals, weights: Weights, G: Floats, D: Floats, damping: float
    ) -> tuple[Floats, Floats, Floats]:
        """Return, for the factors of one curvature, their matrix, its coupling to the cells, and the slope."""
        n, p = guess.X.shape
        GG = G @ G.T
        weight = weights.curvature[k]
        block = weight * np.square(GG)
        expected = weights.expected / np.square(_slack(found.expected[:, k]))
        diagonal = np.arange(n)
        block[diagonal, diagonal] *= 1.0 + damping
        block[diagonal, diagonal] += expected + 1e-9
        coupling = (2.0 * weight * (D.reshape(n * p, -1) @ G.T)).reshape(n, p, n)
        coupling *= (GG * guess.v[:, k, None])[:, None, :]
        slope = weight * np.einsum("ij,ij->i", G @ found.curvature[k], G)
        slope += (found.expected[:, k] - guess.v[:, k]) * expected
        return block, coupling.reshape(n * p, n), slope


def slopes_of_map(feature_map: NystromMap, X: Floats) -> Floats:
    """Return the derivatives of f by each cell, shape (rows, features, rank); of the rbf kernel only."""
    kernel, landmarks = feature_map.kernel, feature_map.landmarks
    slopes = -2.0 * kernel.gamma * kernel(X, landmarks)[:, None, :] * (X[:, :, None] - landmarks.T[None])
    derived: Floats = slopes @ feature_map.normalization
    return derived


def _slack(expected: Floats) -> Floats:
    """Return how far a factor may be off what is expected of it."""
    return 0.05 * expected + 0.02
