"""A mixture of Gaussians and the operations on its components (Luo et al. 2009, equations 1 and 10 to 14).

And Jensen-Shannon divergences (equations 3 and 4), natural logarithms: from 0 to log 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import rel_entr

from flower_pansvm.arrays import Floats, Ints


@dataclass(frozen=True)
class Mixture:
    """A mixture of Gaussians with full covariances, or with diagonal ones, of which only the diagonals are kept."""

    weights: Floats  # (components,): above 0, their sum is 1
    means: Floats  # (components, features)
    covariances: Floats  # (components, features, features); diagonal ones (components, features)

    @property
    def diagonal(self) -> bool:
        """Whether covariances are diagonal."""
        return self.covariances.ndim == 2

    def log_components(self, X: Floats) -> Floats:
        """Return log(weight_i N(x; mean_i, covariance_i)) of each row and component, shape (rows, components)."""
        logs = np.empty((len(X), len(self.weights)))
        for i, (weight, mean, factor) in enumerate(
            zip(self.weights, self.means, self._factors(), strict=True)
        ):
            if self.diagonal:
                scaled, widths = (X - mean) / factor, factor
            else:
                scaled = solve_triangular(factor, (X - mean).T, lower=True, check_finite=False).T
                widths = np.diagonal(factor)
            constant = np.log(weight) - np.log(widths).sum() - X.shape[1] / 2 * np.log(2 * np.pi)
            logs[:, i] = constant - np.square(scaled).sum(axis=1) / 2
        return logs

    def log_density(self, X: Floats) -> Floats:
        """Return log P(x) of each row, shape (rows,) (equation 1)."""
        logs: Floats = np.logaddexp.reduce(self.log_components(X), axis=1)
        return logs

    def points(self, normals: Floats) -> Floats:
        """Return of each component the points that standard normal ones become, shape (components, rows, features)."""
        factors = self._factors()
        spread = (
            normals * factors[:, None, :] if self.diagonal else normals @ np.transpose(factors, (0, 2, 1))
        )
        return self.means[:, None, :] + spread

    def sample(self, count: int, generator: np.random.Generator) -> Floats:
        """Return draws, shape (count, features): exact ones, so that no Markov chain is needed (section 5)."""
        uniform, normals = generator.random(count), generator.normal(size=(count, self.means.shape[1]))
        component = np.minimum(np.searchsorted(np.cumsum(self.weights), uniform), len(self.weights) - 1)
        factors = self._factors()[component]
        spread = factors * normals if self.diagonal else np.einsum("nij,nj->ni", factors, normals)
        return self.means[component] + spread

    def only(self, indices: Ints) -> "Mixture":
        """Return the mixture of some components, whose weights grow alike (11)."""
        weights = self.weights[indices]
        return Mixture(weights / weights.sum(), self.means[indices], self.covariances[indices])

    def largest_first(self) -> "Mixture":
        """Return the same mixture, components by weight."""
        return self.only(np.argsort(-self.weights, kind="stable"))

    def merged(self, i: int, j: int) -> "Mixture":
        """Return the mixture with two components as one, of their mean and second moments (12, reconstructed)."""
        pair, others = np.array([i, j]), np.setdiff1d(np.arange(len(self.weights)), [i, j])
        weight = self.weights[pair].sum()
        shares = self.weights[pair] / weight
        mean = shares @ self.means[pair]
        spread = self.covariances[pair] + self._squares(self.means[pair] - mean)
        return Mixture(
            np.append(self.weights[others], weight),
            np.vstack([self.means[others], mean]),
            np.concatenate([self.covariances[others], np.tensordot(shares, spread, 1)[None]]),
        )

    def split(self, i: int, step: Floats) -> "Mixture":
        """Return the mixture with two components in place of one, at mean ± step (14).

        The covariances are reconstructed: less by step step', so that mean and second moments stay. ``step`` has to be
        shorter than the standard deviation along it.
        """
        others = np.setdiff1d(np.arange(len(self.weights)), [i])
        mean, covariance = self.means[i], self.covariances[i] - self._squares(step[None])[0]
        return Mixture(
            np.append(self.weights[others], [self.weights[i] / 2] * 2),
            np.vstack([self.means[others], mean + step, mean - step]),
            np.concatenate([self.covariances[others], covariance[None], covariance[None]]),
        )

    def perturbed(self, strength: float) -> "Mixture":
        """Return the mixture with covariances (1 + strength) times as large (29)."""
        return Mixture(self.weights, self.means, (1 + strength) * self.covariances)

    def full(self) -> "Mixture":
        """Return the same mixture with full covariances."""
        if not self.diagonal:
            return self
        wide = self.covariances[:, :, None] * np.eye(self.means.shape[1])
        return Mixture(self.weights, self.means, wide)

    def _squares(self, vectors: Floats) -> Floats:
        """Return v v' of each vector, or its diagonal."""
        return np.square(vectors) if self.diagonal else vectors[:, :, None] * vectors[:, None, :]

    def _factors(self) -> Floats:
        """Return lower triangular factors of the covariances, or standard deviations."""
        if self.diagonal:
            return np.sqrt(self.covariances)
        return np.linalg.cholesky(self.covariances).astype(np.float64, copy=False)


def union(models: Sequence[Mixture], rows: Sequence[float]) -> Mixture:
    """Return all components of several models, each model weighing as its rows: the mean model (10, 17)."""
    if not all(model.diagonal for model in models):
        models = [model.full() for model in models]
    shares = np.asarray(rows, dtype=np.float64) / np.sum(rows)
    return Mixture(
        np.concatenate([share * model.weights for share, model in zip(shares, models, strict=True)]),
        np.vstack([model.means for model in models]),
        np.concatenate([model.covariances for model in models]),
    )


DRAWS = 1000
LARGEST = float(np.log(2))
TINY = 1e-300  # half of the smallest numbers is 0, and the divergence from 0 infinite


def divergence(p: Mixture, q: Mixture, normals: Floats, share: float = 0.5) -> float:
    """Return H(pi_1 P_1 + pi_2 P_2) - pi_1 H(P_1) - pi_2 H(P_2) of two mixtures (3), pi_1 being ``share``.

    It has no closed form: as many draws of each component as there are standard normal ones, shape (draws, features),
    which are common to all components. So equal mixtures have divergence 0 exactly.
    """
    total = 0.0
    for pi, mixture in ((share, p), (1 - share, q)):
        points = mixture.points(normals)
        flat = points.reshape(-1, points.shape[2])
        logs = p.log_density(flat), q.log_density(flat)
        middle = np.logaddexp(np.log(share) + logs[0], np.log(1 - share) + logs[1])
        gap = (logs[0] if mixture is p else logs[1]) - middle
        total += pi * float(mixture.weights @ gap.reshape(points.shape[:2]).mean(axis=1))
    return min(max(total, 0.0), LARGEST)


def local_divergence(posterior: Floats, log_density: Floats) -> float:
    """Return the divergence of a component from the rows that it stands for (4, reconstructed).

    Both are distributions over the rows: the rows by their ``posterior`` of the component, and its density at them,
    from ``log_density``, both of shape (rows,).
    """
    rows, model = posterior / posterior.sum(), np.exp(log_density - np.logaddexp.reduce(log_density))
    middle = np.maximum((rows + model) / 2, TINY)
    return float(rel_entr(rows, middle).sum() + rel_entr(model, middle).sum()) / 2
