"""Adaptive EM: the number of components is found by merging, splitting and eliminating (Luo et al. 2009, section 4).

Formulas missing in the text are reconstructed from the sentences around them; docstrings mark them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.mixture.mixture import DRAWS, Mixture, divergence, local_divergence, union

TEMPERATURE = 9.8  # tau of the acceptance probability
MOST_COMPONENTS = 12  # to start with, and this and the next two are reconstructed
MOST_PROPOSALS, WITHOUT_BETTER = 60, 12  # in all, and in a row without a better model
FLOOR = 1e-4  # share of the mean variance that is added to each variance
MOST_FULL = 16  # features with which covariances are full
NEAREST = 3  # others with which a component may be merged
MOST_STEPS, LEAST_GAIN = 200, 1e-4  # of EM; the gain in log-likelihood is that of a row


@dataclass(frozen=True)
class Rivals:
    """Components of the other classes' models, and how many rows these stand for."""

    mixture: Mixture
    rows: float


def rivals_of(index: int, models: Mapping[int, Mixture], rows: Mapping[int, Floats]) -> Rivals | None:
    """Return the components of all other classes; None if there is no other class."""
    others = [other for other in models if other != index]
    counts = [float(len(rows[other])) for other in others]
    return Rivals(union([models[other] for other in others], counts), sum(counts)) if others else None


def floor_of(X: Floats) -> float:
    """Return the addition to each variance; above 0 for rows that are not all the same."""
    return FLOOR * float(X.var(axis=0).mean())


def objective(mixture: Mixture, X: Floats) -> float:
    """Return log-likelihood minus description length (2), the latter reconstructed: log(rows) / 2 for each number."""
    components, features = mixture.means.shape
    numbers_each = features + (features if mixture.diagonal else features * (features + 1) / 2)
    numbers = components * numbers_each + components - 1
    return float(mixture.log_density(X).sum() - numbers / 2 * np.log(len(X)))


def first_model(X: Floats, diagonal: bool, seed: int, most: int = MOST_COMPONENTS) -> Mixture:
    """Return a mixture of many components, by k-means with several starts and EM.

    They are at most a quarter of the rows for each feature. Covariances are diagonal, too, where rows are few.
    """
    from sklearn.cluster import KMeans  # noqa: PLC0415 - all settings import this file

    rows, features = X.shape
    clusters = max(1, min(most, rows // (4 * features), len(np.unique(X, axis=0))))
    assigned = KMeans(clusters, n_init=4, random_state=seed).fit_predict(X)
    shares = np.eye(clusters)[:, np.unique(assigned)][assigned]
    return em(_maximised(X, shares, diagonal or rows < 4 * (features + 1)), X)


def em(mixture: Mixture, X: Floats) -> Mixture:
    """Return the mixture after expectation and maximisation until the likelihood hardly grows.

    A component that is left with no more rows than features is dropped.
    """
    before = -np.inf
    for _ in range(MOST_STEPS):
        logs = mixture.log_components(X)
        total = np.logaddexp.reduce(logs, axis=1)
        if not total.sum() - before >= LEAST_GAIN * len(X):  # nor where it is no number
            break
        before, shares = float(total.sum()), np.exp(logs - total[:, None])
        rows = shares.sum(axis=0)
        enough = rows >= min(X.shape[1] + 1, rows.max())
        if not enough.all():
            mixture, before = mixture.only(np.flatnonzero(enough)), -np.inf
            continue
        mixture = _maximised(X, shares, mixture.diagonal)
    return mixture


def _maximised(X: Floats, shares: Floats, diagonal: bool) -> Mixture:
    """Return the most likely mixture of rows that belong to components by shares, shape (rows, components)."""
    rows, features = shares.sum(axis=0), X.shape[1]
    means = shares.T @ X / rows[:, None]
    covariances = np.empty((len(rows), features) if diagonal else (len(rows), features, features))
    for i, mean in enumerate(means):
        away = X - mean
        weighted = shares[:, i, None] * away
        covariances[i] = (weighted * away).sum(axis=0) / rows[i] if diagonal else weighted.T @ away / rows[i]
    covariances += floor_of(X) * (1.0 if diagonal else np.eye(features))
    return Mixture(rows / rows.sum(), means, covariances)


def adaptive_em(start: Mixture, X: Floats, rivals: Rivals | None, generator: np.random.Generator) -> Mixture:
    """Return the best mixture met of the rows of a class, components by weight (Algorithm 1).

    ``start`` is the first mixture, after EM; ``X`` the rows of the class, shape (rows, features); ``rivals`` the other
    classes' components, None to split without regard to them. The ``generator`` draws operations and points.
    """
    normals = generator.normal(size=(DRAWS, X.shape[1]))
    current = best = start
    value = best_value = objective(start, X)
    proposals, since = Proposals(current, X, rivals, normals), 0
    for _ in range(MOST_PROPOSALS):
        proposed = proposals.draw(generator)
        if proposed is None or since == WITHOUT_BETTER:
            break
        new = em(proposed, X)
        new_value, since = objective(new, X), since + 1
        if generator.random() < np.exp(np.minimum(0.0, (new_value - value) / TEMPERATURE)):
            current, value = new, new_value
            proposals = Proposals(current, X, rivals, normals)
        if new_value > best_value:
            best, best_value, since = new, new_value, 0
    return best.largest_first()


class Proposals:
    """The operations on a mixture and their probabilities (reconstructed).

    Merging: inversely to how far the merged component is from both's rows. Splitting: as the component is far from its
    rows, and near another class. Eliminating: as it is far from its rows. The three are as likely.
    """

    def __init__(self, mixture: Mixture, X: Floats, rivals: Rivals | None, normals: Floats) -> None:
        self.mixture, self.X = mixture, X
        logs = mixture.log_components(X)
        self.shares = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
        components = range(len(mixture.weights))
        several = len(components) > 1
        local = np.array([local_divergence(self.shares[:, i], logs[:, i]) for i in components])
        self.pairs = self._pairs() if several else []
        weights = {"merge": np.array([1 / max(self._merged(*pair), 1e-9) for pair in self.pairs])}
        inter = np.ones(len(local)) if rivals is None else self._inter(rivals, normals)
        weights["split"] = local / np.maximum(inter, 1e-9)
        if several:
            weights["eliminate"] = local
        self.weights = {kind: values / values.sum() for kind, values in weights.items() if values.sum() > 0}

    def draw(self, generator: np.random.Generator) -> Mixture | None:
        """Return the mixture after an operation; None if there is none to do."""
        if not self.weights:
            return None
        kind = list(self.weights)[generator.integers(len(self.weights))]
        index = int(generator.choice(len(self.weights[kind]), p=self.weights[kind]))
        if kind == "merge":
            return self.mixture.merged(*self.pairs[index])
        if kind == "split":
            return self.mixture.split(index, self._step(index))
        return self.mixture.only(np.delete(np.arange(len(self.mixture.weights)), index))

    def _pairs(self) -> list[tuple[int, int]]:
        """Return the pairs that may be merged: each component with the few whose means are nearest."""
        means = self.mixture.means
        apart = np.square(means[:, None] - means[None]).sum(axis=2)
        order = np.argsort(apart, axis=1, kind="stable")[:, : NEAREST + 1]
        return sorted(
            {(min(i, int(j)), max(i, int(j))) for i, row in enumerate(order) for j in row if i != j}
        )

    def _merged(self, i: int, j: int) -> float:
        """Return how far the component made of two is from the rows of both."""
        merged = self.mixture.merged(i, j)
        last = Mixture(merged.weights[-1:], merged.means[-1:], merged.covariances[-1:])
        return local_divergence(self.shares[:, [i, j]].sum(axis=1), last.log_density(self.X))

    def _inter(self, rivals: Rivals, normals: Floats) -> Floats:
        """Return the divergence of each component from the other classes' nearest one, by its own distance."""
        divergences, mixture = np.empty(len(self.mixture.weights)), self.mixture
        for i in range(len(divergences)):
            alone = mixture.only(np.array([i]))
            nearest = int(np.argmax(alone.log_density(rivals.mixture.means)))
            rows = len(self.X) * mixture.weights[i]
            share = rows / (rows + rivals.rows * rivals.mixture.weights[nearest])
            divergences[i] = divergence(alone, rivals.mixture.only(np.array([nearest])), normals, share)
        return divergences

    def _step(self, i: int) -> Floats:
        """Return half a standard deviation along the axis on which the component's rows are the most two-peaked.

        Reconstructed: the index is the kurtosis. The text has the variance in place of the standard deviation, with
        which covariances may stop being positive definite.
        """
        mixture = self.mixture
        covariance = mixture.covariances[i]
        variances, axes = (
            (covariance, np.eye(len(covariance))) if mixture.diagonal else np.linalg.eigh(covariance)
        )
        projected, share = ((self.X - mixture.means[i]) @ axes, self.shares[:, i] / self.shares[:, i].sum())
        second, fourth = share @ np.square(projected), share @ projected**4
        axis = int(np.argmin(fourth / np.maximum(np.square(second), 1e-300)))
        step: Floats = 0.5 * np.sqrt(variances[axis]) * axes[:, axis]
        return step
