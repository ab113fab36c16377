"""Landmarks: the sites' own k-means centres, steps of federated k-means, the bounding box."""

from dataclasses import dataclass

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.tasks.limits import HEADROOM, LARGEST_CELL, MOST_ROWS, largest_total
from flower_pansvm.tasks.task import Broadcast, Task, scaled, summed


@dataclass(frozen=True)
class LandmarksQuestion:
    """Which centres are wanted."""

    folds: Ints  # (scalings,): the fold whose rows each scaling has not seen, or NO_FOLD
    shares: Floats  # (scalings,): centres wanted, as a share of the other rows
    slots_per_site: int  # most centres of one site
    slots: int  # and of all; with more sites than these, some have their turn
    min_cluster: int  # fewest rows behind a centre
    seed: int  # of k-means


@dataclass(frozen=True)
class LandmarksAnswer:
    """The site's centres in its own slots of a zero matrix."""

    centres: Floats = summed(scaled(lambda _: LARGEST_CELL))  # (scalings, slots, features), in scaled units
    filled: Floats = summed(1.0)  # (scalings, slots): 1 for each slot in use


LANDMARKS = Task("landmarks", "train", LandmarksQuestion, LandmarksAnswer, since="0.1.0")


@dataclass(frozen=True)
class AssignQuestion:
    """Centres to which the rows are assigned."""

    folds: Ints  # (scalings,): as in LandmarksQuestion
    centres: Floats  # (scalings, centres, features): those of the step before, padded
    counts: Ints  # (scalings,): how many centres each scaling has
    min_cluster: int  # fewest rows in a sum


@dataclass(frozen=True)
class AssignAnswer:
    """Sums over the rows nearest to each centre: one step of federated k-means."""

    # (scalings, centres, features)
    totals: Floats = summed(scaled(lambda sites: HEADROOM * largest_total(sites)))
    rows: Floats = summed(MOST_ROWS)  # (scalings, centres)


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


LANDMARK_SET = Broadcast("landmark_set", LandmarkBroadcast)  # numbered: one for each set
