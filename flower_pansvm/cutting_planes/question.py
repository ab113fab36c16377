"""What the coordinator asks about one problem: cutting planes at some points, and the curvature of the loss at one.

Most points lie several on a way, and all ways begin at the same centre. So ways are what is told: in fewer bytes than
the points, and a site's decisions at a point follow from those at the ends of its way.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from flower_pansvm.arrays import Floats, Ints, in_single_precision


@dataclass(frozen=True)
class Question:
    """What is asked of one problem in one round trip."""

    ends: Floats  # (ends, rank + 1): where the ways end, weights w and, last, the bias b
    centre: Floats  # (rank + 1,): where all ways begin, and where the curvature of the loss is wanted
    width: float = 1.0  # distance from the margin, in z, up to which a row counts for the curvature
    # Leading coordinates between which the curvature is wanted, or -1 for no curvature at all; of the coordinates after
    # them only the diagonal is.
    leading: int = -1
    # (T,) both: at the end of which way a point lies, or at which share of it; empty if the ends are the points.
    way: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    share: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def count(self) -> int:
        """T, the number of points."""
        return len(self.share) or len(self.ends)

    @cached_property
    def points(self) -> Floats:
        """Where cutting planes are wanted, shape (T, rank + 1); on the way the nearest that single precision holds."""
        if not len(self.share):
            return self.ends
        share = self.share[:, None]
        return in_single_precision((1.0 - share) * self.centre + share * self.ends[self.way])

    @property
    def needs_centre(self) -> bool:
        """Whether anything is asked at the centre or on the way from it."""
        return self.leading >= 0 or len(self.share) > 0

    @cached_property
    def looked_at(self) -> Floats:
        """Where a site has to know its decisions, shape (any, rank + 1): the ends and, if needed, last the centre."""
        return np.vstack([self.ends, self.centre]) if self.needs_centre else self.ends
