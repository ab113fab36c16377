"""Secret noise in the answers to cutting-plane questions.

Exact sums about the same rows can be solved for the rows: whoever fits rows to the curvature of a run finds nearly all
of a small table, and differences of cuts follow one by one (docs/threat-model.md has the figures). With the preset
``private`` no curvature leaves a site, and each adds noise from a secret of its own to its cuts before the masks. The
noise has the same size whatever the number of rows, so that it matters less and less as rows grow.

The noise of a cut is *tilted about its point*: the plane turns by a random slope, but where it touches the loss it
stays. So cuts near the optimum, on which the lower bound rests, are hardly off at the optimum.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.cutting_planes.cuts import Cuts, Draw, text_of
from flower_pansvm.cutting_planes.question import Question
from flower_pansvm.nystroem import NystromMap

SLOPE = 0.7
"""Size of the noise in a summed slope (a, d), over the root of the number of columns.

A row of few columns changes more when one of its cells does, and each number of a sum says more about it."""

HEIGHT = 0.1
"""Standard deviation of the noise in a summed loss, and in the height of a cut at its point, in units of a row's loss
at the origin."""


@dataclass(frozen=True)
class Noise:
    """How large the noise in the sums about one feature map is, as standard deviations."""

    slope: Floats  # (rank + 1,): in each coordinate of a summed slope, the bias last

    @classmethod
    def of(cls, feature_map: NystromMap) -> Self:
        """Return the noise for a feature map.

        A coordinate of ordinary size has noise 1 in units of `SLOPE`. With a wide kernel most coordinates are tiny, and
        rare rows stand out in them: noise goes with the root of a size, the root mean square over the landmarks.
        """
        sizes = np.sqrt(np.square(feature_map.transform(feature_map.landmarks)).mean(axis=0))
        root = math.sqrt(feature_map.landmarks.shape[1])
        units = np.sqrt(math.sqrt(len(sizes)) * sizes * feature_map.typical_norm())
        return cls(SLOPE / root * np.append(units, 1.0))


def rows_to_blur(rank: int, columns: int, sites: int) -> int:
    """Return how many rows of each site must be random in a cut, lest differences of two cuts be solved for rows.

    A difference of two cuts has rank + 1 numbers and is about 2 * sites * blur random rows at least, each of which has
    as many unknown cells as there are columns, and its factor.
    """
    return math.ceil(2 * (rank + 1) / (sites * (columns + 1)))


def normal(draw: Draw, purpose: str, count: int) -> Floats:
    """Return secret standard normal numbers, shape (count,)."""
    return _normal_of(draw(purpose, count + count % 2))[:count]


def noise_in(
    cuts: Cuts, question: Question, draw: Draw, noise: Noise, *, sites: int, heaviest: float
) -> Cuts:
    """Return one site's share of the noise in its cuts; the same question always gets the same.

    ``noise`` is its size in the sum of all sites, ``heaviest`` the largest weight of a row in the problem.
    """
    rank = cuts.a.shape[1]
    count = 2 * (rank // 2 + 2)  # rank + 3, or one more: they are made in pairs
    drawn = [draw(f"noise {question.blur} {text_of(point)}", count) for point in question.points]
    numbers = heaviest / math.sqrt(sites) * _normal_of(np.reshape(drawn, (len(drawn), count)))
    slope = noise.slope * numbers[:, : rank + 1]
    tilt = np.einsum("tj,tj->t", slope, question.points)
    height, loss = HEIGHT * numbers[:, rank + 1], HEIGHT * numbers[:, rank + 2]
    return Cuts(slope[:, :rank], slope[:, rank], tilt + height, loss)


def _normal_of(uniform: Floats) -> Floats:
    """Return standard normal numbers for those from [0, 1) along the last axis, as Box and Muller (1958) make them."""
    half = uniform.shape[-1] // 2
    # 1 - u is never 0.
    radius, angle = np.sqrt(-2.0 * np.log1p(-uniform[..., :half])), 2.0 * math.pi * uniform[..., half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
