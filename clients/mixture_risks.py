"""What a site risks and gains by sharing components of a class's model (Luo et al. 2009, section 6).

All formulas of the text are lost. Each is reconstructed from the sentences around it, such that risks, utility and
benefit move with the number of shared components as its figures say. Nothing of this leaves the site.
"""

from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.mixtures.divergence import DRAWS, LARGEST, divergence
from flower_pansvm.mixtures.mixture import Mixture

LARGEST_RISK = 1000.0  # Delta_c of the text
MOST_COMPARED = 2000  # rows, and synthetic ones, for the time that it takes


@dataclass(frozen=True)
class Preference:
    """What the hospital has chosen."""

    bound: float = 0.5  # largest total risk, from 0 to 1
    utility_share: float = 0.5  # lambda: how much utility counts beside benefit
    weights: tuple[float, ...] = (0.4, 0.2, 0.2, 0.2)  # of the risks, in the order of Tradeoff


@dataclass(frozen=True)
class Tradeoff:
    """Risks, loss and benefit by number of shared components, shape (components,) each, from 1 on."""

    identification: Floats  # (18): share of all pairs of row and draw that are each other's nearest
    linkage: Floats  # (20): inverse of the information lost
    interval: Floats  # (19): mean inverse distance of a cell from the nearest draw's, in shares of Delta_c
    inference: Floats  # (21): inverse distance of means and covariances
    loss: Floats  # information lost: divergence of what is shared from the whole model
    benefit: Floats  # (23)
    pairs: int  # rows times draws

    def normalised(self) -> Floats:
        """Return the four risks from 0 to 1, shape (4, components): their scales differ by six orders else."""
        return np.stack(
            [
                np.minimum(np.sqrt(self.pairs) * self.identification, 1.0),
                1 - self.loss / LARGEST,
                self.interval / (1 + self.interval),
                self.inference / (1 + self.inference),
            ]
        )

    def total(self, weights: tuple[float, ...]) -> Floats:
        """Return the total risk, from 0 to 1 (22)."""
        risk: Floats = np.asarray(weights) @ self.normalised()
        return risk

    def utility(self) -> Floats:
        """Return the inverse of the information lost, from 0 to 1."""
        return 1 - self.loss / LARGEST

    def best(self, preference: Preference) -> int:
        """Return how many components to share: the most useful number within the bound of risk (25); 0 if none is."""
        share = preference.utility_share
        gain = share * self.utility() + (1 - share) * self.benefit
        allowed = self.total(preference.weights) <= preference.bound
        return int(np.argmax(np.where(allowed, gain, -np.inf))) + 1 if allowed.any() else 0


def tradeoff(model: Mixture, X: Floats, benefit: Floats, seed: list[int], draws: int = 0) -> Tradeoff:
    """Return what sharing 1, 2, … components means, as many numbers as ``benefit`` has.

    Parameters
    ----------
    model : Mixture
        Of all rows of the class, components by weight.
    X : ndarray of shape (rows, features)
        The rows, in standardised units.
    benefit : ndarray of shape (components,)
        By number of shared components.
    seed : list of int
        Draws are the same for each number of components.
    draws : int
        Synthetic rows; 0 for as many as there are rows.
    """
    generator = np.random.default_rng(seed)
    normals = generator.normal(size=(DRAWS, X.shape[1]))
    X = X[generator.permutation(len(X))[:MOST_COMPARED]]
    draws = draws or len(X)
    shared = [model.only(np.arange(count + 1)) for count in range(len(benefit))]
    risks = np.array([_risks(X, one.sample(draws, np.random.default_rng([*seed, 1]))) for one in shared])
    loss = np.array([divergence(model, one, normals) for one in shared])
    return Tradeoff(
        identification=risks[:, 0],
        linkage=_inverse(loss),
        interval=risks[:, 1],
        inference=risks[:, 2],
        loss=loss,
        benefit=benefit,
        pairs=len(X) * draws,
    )


def benefits(model: Mixture, count: int, logs: Floats, others: Floats, members: Bools) -> Floats:
    """Return 1 - |accuracy of what is shared - accuracy of the whole model| for 1, 2, … components (23).

    The classifier is the mixtures' own, on the site's rows: what is shared is the limit of a classifier that is trained
    on draws from it. Accuracy is the mean of both sides', so that a rare class counts.

    Parameters
    ----------
    model : Mixture
        Of the class, components by weight.
    count : int
        How many of them may be shared.
    logs : ndarray of shape (rows, components)
        Log densities of the model's components times the rows of the class, of all rows of the site.
    others : ndarray of shape (rows,)
        The same of the most likely other class.
    members : ndarray of shape (rows,)
        Rows of the class.
    """
    whole = _accuracy(np.logaddexp.reduce(logs, axis=1) > others, members)
    sizes = np.log(np.cumsum(model.weights))
    shared = [
        _accuracy(np.logaddexp.reduce(logs[:, : end + 1], axis=1) - sizes[end] > others, members)
        for end in range(count)
    ]
    return 1 - np.abs(np.array(shared) - whole)


def _accuracy(said: Bools, members: Bools) -> float:
    sides = [said[members].mean(), *([] if members.all() else [1 - said[~members].mean()])]
    return float(np.mean(sides))


def _risks(X: Floats, Z: Floats) -> tuple[float, float, float]:
    """Return (18), (19) and (21) of rows and synthetic ones."""
    from sklearn.metrics import pairwise_distances_argmin  # noqa: PLC0415 - each message may start a process

    nearest: Ints = pairwise_distances_argmin(X, Z)
    mutual = np.count_nonzero(pairwise_distances_argmin(Z, X)[nearest] == np.arange(len(X)))
    apart = _inverse(np.abs(X - Z[nearest])).mean() / LARGEST_RISK
    return (
        mutual / (len(X) * len(Z)),
        float(apart),
        float(_inverse(np.linalg.norm(_moments(X) - _moments(Z)))),
    )


def _moments(X: Floats) -> Floats:
    """Return means and covariances."""
    away = X - X.mean(axis=0)
    return np.concatenate([X.mean(axis=0), (away.T @ away / len(X)).ravel()])


def _inverse(distances: Floats | np.floating) -> Floats:
    """Return 1 / distance, at most `LARGEST_RISK`."""
    found: Floats = 1 / np.maximum(distances, 1 / LARGEST_RISK)
    return found
