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
    """Which centres are wanted."""

    folds: Ints  # (scalings,): the fold whose rows each scaling has not seen, or NO_FOLD
    shares: Floats  # (scalings,): centres wanted, as a share of the other rows
    slots_per_site: int  # most centres of one site
    min_cluster: int  # fewest rows behind a centre
    seed: int  # of k-means


def _centres(question: LandmarksQuestion, terms: Terms, sites: int) -> float:  # noqa: ARG001
    return UNKNOWN if terms.scaling == "none" else LARGEST_CELL


@dataclass(frozen=True)
class LandmarksAnswer:
    """The site's centres in its own slots of a zero matrix."""

    centres: Floats = noised(_centres)  # (scalings, slots, features): k-means centres, in scaled units
    filled: Floats = summed(1.0)  # (scalings, slots): 1 for each slot in use


LANDMARKS = Task("landmarks", "train", LandmarksQuestion, LandmarksAnswer, since="0.1.0")


@dataclass(frozen=True)
class AssignQuestion:
    """Centres to which the rows are assigned."""

    folds: Ints  # (scalings,): as in LandmarksQuestion
    centres: Floats  # (scalings, centres, features): those of the step before, padded
    counts: Ints  # (scalings,): how many centres each scaling has
    min_cluster: int  # fewest rows in a sum


def _totals(question: AssignQuestion, terms: Terms, sites: int) -> float:  # noqa: ARG001
    return UNKNOWN if terms.scaling == "none" else HEADROOM * LARGEST_RESCALED * largest_total(sites)


@dataclass(frozen=True)
class AssignAnswer:
    """Sums over the rows nearest to each centre, and of the cells' weights in them: one step of federated k-means."""

    totals: Floats = summed(_totals)  # (scalings, centres, features): cells times secret random weights
    weights: Floats = summed(HEADROOM * LARGEST_RESCALED * MOST_ROWS)


ASSIGN = Task("assign", "train", AssignQuestion, AssignAnswer, since="0.1.0")


@dataclass(frozen=True)
class BoxQuestion:
    """How far out rows lie."""

    folds: Ints  # (scalings,): as in LandmarksQuestion
    steps: Floats  # (steps,): distances from 0, in scaled units, increasing


@dataclass(frozen=True)
class BoxAnswer:
    """1 where the site has a row beyond a step, shape (scalings, features, steps): the sums are numbers of sites."""

    below: Floats = summed(1.0)
    above: Floats = summed(1.0)


BOX = Task("box", "train", BoxQuestion, BoxAnswer, since="0.1.0")


@dataclass(frozen=True)
class LandmarkBroadcast:
    """A set of landmarks."""

    scaling: int  # number of the scaling that they are in
    landmarks: Floats  # (landmarks, features)


LANDMARK_SET = Broadcast("landmark_set", LandmarkBroadcast)
"""Numbered: one for each set."""
