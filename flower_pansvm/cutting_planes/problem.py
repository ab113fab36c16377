"""One binary problem of a job: which rows, which two sides, which penalty."""

from dataclasses import dataclass, field

from flower_pansvm.cutting_planes.noise import Noise
from flower_pansvm.multiclass import Pair

NO_FOLD = -1
"""No rows are left out."""

LEAST_WEIGHT, LARGEST_WEIGHT = 0.5, 1000.0
"""Limits of the balanced weight of a class: n / (2 n_class) is never below one half, and above a thousand it is that of
so few rows that sums would be about them."""


@dataclass(frozen=True)
class Problem:
    """One linear SVM over mapped rows of all sites: min 1/2 ||w||^2 + C sum_i weight_i max(0, 1 - y_i (w.f_i + b)).

    Parameters
    ----------
    name : str
        What a log line calls it, for instance the positive class.
    rank : int
        Coordinates of a mapped row.
    rows : float
        Sum of the rows' weights over all sites.
    C : float
        Penalty, positive.
    pair : Pair
        Its positive class and its negative one, or all the others.
    feature_map : int
        Number of the feature map that maps its rows.
    fold : int
        Fold whose rows are left out, or `NO_FOLD`.
    weights : tuple of float
        Weight of a row of the positive class and of one of the negative.
    noise : Noise or None
        Size of the secret noise in the sums about its rows; None if these are exact.
    """

    name: str
    rank: int
    rows: float
    C: float
    pair: Pair
    feature_map: int = 0
    fold: int = NO_FOLD
    weights: tuple[float, float] = (1.0, 1.0)
    noise: Noise | None = field(default=None, compare=False)
