"""Landmarks: the sites' own k-means centres, steps of federated k-means, the bounding box."""

from dataclasses import dataclass

from flower_pansvm.records import Floats, Ints
from flower_pansvm.tasks.limits import (
    HEADROOM,
    LARGEST_CELL,
    LARGEST_RESCALED,
    MOST_ROWS,
    UNKNOWN,
    largest_total,
)
from flower_pansvm.tasks.task import Broadcast, Task, noised, summed
from flower_pansvm.terms import Terms


@dataclass(frozen=True)
class LandmarksQuestion:
    """Which centres are wanted.

    Parameters
    ----------
    folds : ndarray of shape (scalings,)
        For each scaling the fold whose rows it has not seen, or `NO_FOLD`.
    shares : ndarray of shape (scalings,)
        Centres wanted, as a share of the other rows.
    slots_per_site : int
        Most centres of one site.
    min_cluster : int
        Fewest rows behind a centre.
    seed : int
        Seed of k-means.
    """

    folds: Ints
    shares: Floats
    slots_per_site: int
    min_cluster: int
    seed: int


def _centres(question: LandmarksQuestion, terms: Terms, sites: int) -> float:  # noqa: ARG001
    return UNKNOWN if terms.scaling == "none" else LARGEST_CELL


@dataclass(frozen=True)
class LandmarksAnswer:
    """The site's centres in its own slots of a zero matrix.

    Parameters
    ----------
    centres : ndarray of shape (scalings, slots, features)
        K-means centres, in scaled units.
    filled : ndarray of shape (scalings, slots)
        1 for each slot in use.
    """

    centres: Floats = noised(_centres)
    filled: Floats = summed(1.0)


LANDMARKS = Task("landmarks", "train", LandmarksQuestion, LandmarksAnswer, since="0.1.0")


@dataclass(frozen=True)
class AssignQuestion:
    """Centres to which the rows are assigned.

    Parameters
    ----------
    folds : ndarray of shape (scalings,)
        As in :class:`LandmarksQuestion`.
    centres : ndarray of shape (scalings, centres, features)
        The centres of the step before; the first ``counts`` of each scaling.
    counts : ndarray of shape (scalings,)
        Centres of each scaling.
    min_cluster : int
        Fewest rows in a sum.
    """

    folds: Ints
    centres: Floats
    counts: Ints
    min_cluster: int


def _totals(question: AssignQuestion, terms: Terms, sites: int) -> float:  # noqa: ARG001
    return UNKNOWN if terms.scaling == "none" else HEADROOM * LARGEST_RESCALED * largest_total(sites)


@dataclass(frozen=True)
class AssignAnswer:
    """Sums over the rows nearest to each centre: one step of federated k-means.

    Parameters
    ----------
    totals, weights : ndarray of shape (scalings, centres, features)
        Sum of the cells, each with a secret random weight, and sum of these weights.
    """

    totals: Floats = summed(_totals)
    weights: Floats = summed(HEADROOM * LARGEST_RESCALED * MOST_ROWS)


ASSIGN = Task("assign", "train", AssignQuestion, AssignAnswer, since="0.1.0")


@dataclass(frozen=True)
class BoxQuestion:
    """How far out rows lie.

    Parameters
    ----------
    folds : ndarray of shape (scalings,)
        As in :class:`LandmarksQuestion`.
    steps : ndarray of shape (steps,)
        Distances from 0, in scaled units, increasing.
    """

    folds: Ints
    steps: Floats


@dataclass(frozen=True)
class BoxAnswer:
    """1 where the site has a row beyond a step, shape (scalings, features, steps): the sums are numbers of sites."""

    below: Floats = summed(1.0)
    above: Floats = summed(1.0)


BOX = Task("box", "train", BoxQuestion, BoxAnswer, since="0.1.0")


@dataclass(frozen=True)
class LandmarkBroadcast:
    """A set of landmarks.

    Parameters
    ----------
    scaling : int
        Number of the scaling that they are in.
    landmarks : ndarray of shape (landmarks, features)
        The landmarks.
    """

    scaling: int
    landmarks: Floats


LANDMARK_SET = Broadcast("landmark_set", LandmarkBroadcast)
"""Numbered: one for each set."""
