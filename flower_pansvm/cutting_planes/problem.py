"""One binary problem of a job: which rows, which two sides, which penalty."""

from dataclasses import dataclass

from flower_pansvm.multiclass import Pair

NO_FOLD = -1  # no rows are left out

LEAST_WEIGHT, LARGEST_WEIGHT = 0.5, 1000.0
"""Limits of the balanced weight of a class: n / (2 n_class) is never below one half, and above a thousand it is that of
so few rows that sums would be about them."""


@dataclass(frozen=True)
class Problem:
    """One linear SVM over mapped rows of all sites: min 1/2 ||w||^2 + C sum_i weight_i max(0, 1 - y_i (w.f_i + b))."""

    name: str  # what a log line calls it, for instance the positive class
    rank: int  # coordinates of a mapped row
    rows: float  # sum of the rows' weights over all sites
    C: float  # penalty, positive
    pair: Pair  # its positive class and its negative one, or all the others
    feature_map: int = 0  # number of the feature map that maps its rows
    fold: int = NO_FOLD  # fold whose rows are left out
    weights: tuple[float, float] = (1.0, 1.0)  # of a row of the positive class and of one of the negative
