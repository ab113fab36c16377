"""Both feature selections of the paper on pooled rows, as plain as can be: what the federated ones are compared with.

Written from the paper (Lu 2016, sections 5.2 and 6.2) with nothing of this project's code in it. The data of all sites
are in one place here, so nothing is shared, and every SVM is trained anew and to the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[np.float64]

FOLDS = 5
SMALLEST_EIGENVALUE = 1e-8
"""Share of the largest one below which an eigenvalue of the landmarks' kernel matrix is left out."""

SUPPORT = 1e-3
"""A row is a support vector if its dual variable is above this share of C."""

GOAL, LARGEST_GAP = 1e-10, 1e-8
"""Relative duality gap that an SVM is trained to, and that it may have. Where nothing can be learned, w is 0 and all
rows of the larger class lie on the margin; then rounding leaves more than the goal."""

MOST_STEPS = 60
"""Steps of the interior-point method; it takes about 20."""


@dataclass(frozen=True)
class Pooled:
    """All that a selection needs, in one place.

    Parameters
    ----------
    X : ndarray of shape (rows, features)
        Training rows in the tables' units.
    y : ndarray of shape (rows,)
        +1 or -1.
    folds : ndarray of shape (rows,)
        Fold of each row, 0 to 4.
    landmarks : sequence of ndarray of shape (landmarks, features)
        Landmarks of all rows, then those without each fold, in units of their own scaling.
    scalings : sequence of tuple of ndarray of shape (features,)
        Shift, scale and fill of all rows, then those without each fold.
    C, gamma : float
        Penalty, and parameter of the RBF kernel.
    """

    X: Array
    y: Array
    folds: NDArray[np.int64]
    landmarks: Sequence[Array]
    scalings: Sequence[tuple[Array, Array, Array]]
    C: float
    gamma: float

    def scaled(self, number: int = 0) -> Array:
        """Return the rows filled and scaled: by all rows (0), or as without fold ``number - 1``."""
        shift, scale, fill = self.scalings[number]
        return (np.where(np.isnan(self.X), fill, self.X) - shift) / scale


@dataclass(frozen=True)
class Step:
    """One step of an elimination.

    Parameters
    ----------
    features : tuple of int
        What was left before the step, in the order of the columns.
    candidates : dict of str to int
        Who would remove what; for the filter-wrapper the key is the feature's own number.
    accuracies : dict of str to Fraction
        Accuracy without each candidate; empty where votes decided.
    removed : int
        What went.
    """

    features: tuple[int, ...]
    candidates: Mapping[str, int]
    accuracies: Mapping[str, Fraction]
    removed: int


@dataclass(frozen=True)
class Outcome:
    """A ranking, the most important feature first, and how it came about."""

    ranking: tuple[int, ...]
    steps: tuple[Step, ...]


def voted_wrapper(pooled: Pooled, voters: Sequence[str] = ("svm-rfe", "rsvm", "svm-t")) -> Outcome:
    """PPFSVW, section 5.2.3: three criteria vote; where all differ, the accuracy without each candidate decides.

    With a single voter it is SVM-RFE, RSVM or SVM-t: this one alone decides.
    """
    left, removed, steps = list(range(pooled.X.shape[1])), [], []
    while len(left) > 1:
        scores = criteria(pooled, left)
        candidates = {name: _lowest(left, scores[name]) for name in voters}
        proposed = list(candidates.values())
        agreed = [feature for feature in proposed if proposed.count(feature) >= min(2, len(voters))]
        accuracies: dict[str, Fraction] = {}
        if agreed:
            gone = agreed[0]
        else:
            accuracies = {name: accuracy(pooled, _without(left, one)) for name, one in candidates.items()}
            # Of equally accurate ones that goes whose places by the three criteria have the smallest sum.
            orders = [
                sorted(left, key=lambda feature, own=own: (own[feature], -feature))
                for own in (dict(zip(left, scores[name], strict=True)) for name in voters)
            ]
            places = {name: sum(order.index(one) for order in orders) for name, one in candidates.items()}
            gone = candidates[min(candidates, key=lambda name: (-accuracies[name], places[name]))]
        steps.append(Step(tuple(left), candidates, accuracies, gone))
        left.remove(gone)
        removed.append(gone)
    return Outcome((*left, *reversed(removed)), tuple(steps))


def filter_wrapper(pooled: Pooled, best: int) -> Outcome:
    """PPFSIFW, section 6.2.3: of the features all filters keep, the one goes without which accuracy is highest.

    Parameters
    ----------
    pooled : Pooled
        The rows.
    best : int
        How many features each filter keeps.
    """
    scores = filters(pooled)
    place = sum(rankdata(one) for one in scores.values())
    left = sorted(set.intersection(*({*np.argsort(-one, kind="stable")[:best]} for one in scores.values())))
    left = [int(feature) for feature in left]
    screened_out = [feature for feature in range(pooled.X.shape[1]) if feature not in left]
    screened_out.sort(key=lambda feature: (-place[feature], feature))
    removed, steps = [], []
    while len(left) > 1:
        accuracies = {feature: accuracy(pooled, _without(left, feature)) for feature in left}
        gone = max(left, key=lambda feature: (accuracies[feature], -place[feature], feature))
        names = {str(feature): feature for feature in left}
        by_name = {name: accuracies[feature] for name, feature in names.items()}
        steps.append(Step(tuple(left), names, by_name, gone))
        left.remove(gone)
        removed.append(gone)
    return Outcome((*left, *reversed(removed), *screened_out), tuple(steps))


def filters(pooled: Pooled) -> dict[str, Array]:
    """Return Fisher score, |t| of the Welch test and scatter ratio of each feature: (6.1), (6.2), (6.3)."""
    X, y = pooled.scaled(), pooled.y
    plus, minus = X[y > 0], X[y < 0]
    m_plus, m_minus, m = plus.mean(axis=0), minus.mean(axis=0), X.mean(axis=0)
    difference = _distance(plus, minus)
    within = np.square(plus - m_plus).sum(axis=0) + np.square(minus - m_minus).sum(axis=0)
    return {
        "fisher": _ratio(difference, plus.var(axis=0) + minus.var(axis=0)),
        "welch": _welch(plus, minus),
        "scatter": _ratio(
            np.where(difference > 0, np.square(m_plus - m) + np.square(m_minus - m), 0.0), within
        ),
    }


def criteria(pooled: Pooled, features: Sequence[int]) -> dict[str, Array]:
    """Return the three wrapper criteria of each of the features, for an SVM on these: (5.1), (5.2), (5.3)."""
    x, y = pooled.scaled()[:, features], pooled.y
    alpha = train(x, y, pooled.landmarks[0][:, features], pooled.C, pooled.gamma).alpha
    # Not a matrix product, which rounds the sums of columns that are alike differently.
    w = ((alpha * y)[:, None] * x).sum(axis=0)
    support = alpha > SUPPORT * pooled.C
    return {
        "svm-rfe": np.square(w),
        "rsvm": w * (x[y > 0].mean(axis=0) - x[y < 0].mean(axis=0)),
        "svm-t": _welch(x[support & (y > 0)], x[support & (y < 0)]),
    }


def accuracy(pooled: Pooled, features: Sequence[int]) -> Fraction:
    """Return the accuracy by cross-validation, the mean over the folds; exact, so that equal ones are equal."""
    total = Fraction(0)
    for fold in range(FOLDS):
        x, out = pooled.scaled(fold + 1)[:, features], pooled.folds == fold
        landmarks = pooled.landmarks[fold + 1][:, features]
        svm = train(x[~out], pooled.y[~out], landmarks, pooled.C, pooled.gamma)
        right = (svm.decide(x[out]) > 0) == (pooled.y[out] > 0)
        total += Fraction(int(right.sum()), len(right))
    return total / FOLDS


@dataclass(frozen=True)
class NystromSVM:
    """A linear SVM on the Nyström feature map f(x) = k(x, L) U Lambda^-1/2, and its dual variables."""

    landmarks: Array
    normalization: Array
    gamma: float
    w: Array
    b: float
    alpha: Array

    def decide(self, x: Array) -> Array:
        """Return w.f(x) + b."""
        return rbf(x, self.landmarks, self.gamma) @ self.normalization @ self.w + self.b


def train(x: Array, y: Array, landmarks: Array, C: float, gamma: float) -> NystromSVM:
    """Minimise ||w||^2 / 2 + C sum max(0, 1 - y (w.f(x) + b)).

    Rows that are alike, of which there are many when few features are left, share their dual variable evenly: only
    their sum is defined. So each kind of row is trained on once, with a weight.
    """
    values, vectors = np.linalg.eigh(rbf(landmarks, landmarks, gamma))
    kept = values > SMALLEST_EIGENVALUE * values[-1]
    normalization = vectors[:, kept] / np.sqrt(values[kept])
    kinds, kind, counts = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True, return_counts=True)
    f = rbf(kinds[:, :-1], landmarks, gamma) @ normalization
    w, b, alpha = _solve(f, kinds[:, -1], C * counts.astype(np.float64))
    return NystromSVM(landmarks, normalization, gamma, w, b, (alpha / counts)[kind])


def _solve(f: Array, y: Array, most: Array) -> tuple[Array, float, Array]:
    """Return w, b and alpha of a linear SVM whose dual variables are at most ``most``, by an interior-point method.

    LIBSVM would do, but for its kernel in single precision: hundreds of rows may lie within a millionth of the margin
    when one feature is left, and then it is wrong about which of them are on it.

    With slack s of the margin and the loss xi, every row has y (w.f + b) = 1 + s - xi, and at the solution
    alpha s = (most - alpha) xi = 0. Newton steps solve this for products that fall to 0.
    """
    g = np.column_stack([f, np.ones(len(f))])
    penalty = np.append(np.ones(f.shape[1]), 0.0)
    # most - alpha is carried along, because as a difference it would lose its digits.
    v, alpha, rest, s, xi = np.zeros(g.shape[1]), most / 2, most / 2, np.ones(len(y)), np.ones(len(y))
    found, smallest = (v[:-1], 0.0, alpha), np.inf
    for _ in range(MOST_STEPS):
        w, b = (alpha * y) @ f, float(v[-1])
        primal = w @ w / 2 + most @ np.maximum(0.0, 1.0 - y * (f @ w + b))
        gap = (abs(primal + w @ w / 2 - alpha.sum()) + abs(alpha @ y)) / primal
        if gap < smallest:
            found, smallest = (w, b, alpha), gap
        if gap < GOAL:
            break
        # A tenth of the products' mean; below the goal the equations would only lose digits.
        product = 0.1 * max(alpha @ s + rest @ xi, GOAL * primal) / (2 * len(y))
        stiffness = s / alpha + xi / rest
        missing = 1.0 - y * (g @ v) + product / alpha - product / rest
        weighted = (g / stiffness[:, None]).T
        dv = np.linalg.solve(
            weighted @ g + np.diag(penalty), g.T @ (y * alpha) - penalty * v + weighted @ (y * missing)
        )
        d_alpha = (missing - y * (g @ dv)) / stiffness
        d_s = (product - s * d_alpha) / alpha - s
        d_xi = (product + xi * d_alpha) / rest - xi
        shares = np.concatenate([-d_alpha / alpha, d_alpha / rest, -d_s / s, -d_xi / xi])
        step = min(1.0, 0.99 / shares.max())
        v, s, xi = v + step * dv, s + step * d_s, xi + step * d_xi
        alpha, rest = alpha + step * d_alpha, rest - step * d_alpha
    assert smallest < LARGEST_GAP
    return found


def rbf(x: Array, z: Array, gamma: float) -> Array:
    """Return exp(-gamma ||x - z||^2) for each pair of rows."""
    differences = x[:, None, :] - z[None, :, :]
    return np.asarray(np.exp(-gamma * np.square(differences).sum(axis=2)))


def _welch(plus: Array, minus: Array) -> Array:
    """Return |t| of Welch's test of each column; 0, as it is not defined, where a side has fewer than two rows."""
    if min(len(plus), len(minus)) < 2:
        return np.zeros(plus.shape[1])
    error = plus.var(axis=0, ddof=1) / len(plus) + minus.var(axis=0, ddof=1) / len(minus)
    return _ratio(_distance(plus, minus), np.sqrt(error))


def _distance(plus: Array, minus: Array) -> Array:
    """Return how far the means of the two sides are apart; exactly 0 for a constant column."""
    varies = np.ptp(np.vstack([plus, minus]), axis=0) > 0
    return np.where(varies, np.abs(plus.mean(axis=0) - minus.mean(axis=0)), 0.0)


def _ratio(above: Array, below: Array) -> Array:
    """Return above / below, 0 for 0 / 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above == 0, 0.0, above / below)


def _lowest(features: Sequence[int], scores: Array) -> int:
    """Return the feature of the lowest score, of equal ones the last."""
    return max(zip(-scores, features, strict=True))[1]


def _without(features: Sequence[int], one: int) -> list[int]:
    return [feature for feature in features if feature != one]
