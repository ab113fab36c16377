"""Secret noise in the answers to cutting-plane questions.

Exact sums about the same rows can be solved for the rows: whoever fits rows to the curvature of a run finds nearly all
of a small table, and differences of cuts follow one by one (docs/threat-model.md has the figures). With the preset
``private`` each site adds noise from a secret of its own before the masks. The noise of a cut has the same size
whatever the number of rows, so that it matters less and less as rows grow.

The noise of a cut is *tilted about its point*: the plane turns by a random slope, but where it touches the loss it
stays. So cuts near the optimum, on which the lower bound rests, are hardly off at the optimum.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.cutting_planes.cuts import EVERYWHERE, LARGEST_JITTER, Answer, Cuts, Draw, Question
from flower_pansvm.nystroem import NystromMap

SLOPE, BEND = 0.7, 1.0
"""Size of the noise in a summed slope (a, d) and in a summed curvature, over the root of the number of columns.

A row of few columns changes more when one of its cells does, and each number of a sum says more about it."""

HEIGHT = 0.1
"""Standard deviation of the noise in a summed loss, and in the height of a cut at its point, in units of a row's loss
at the origin."""


@dataclass(frozen=True)
class Noise:
    """How large the noise in the sums about one feature map is, as standard deviations."""

    slope: Floats  # (rank + 1,): in each coordinate of a summed slope, the bias last
    bend: float  # the largest in an entry H_ij of a summed curvature, as a share of sqrt(H_ii H_jj)

    @classmethod
    def of(cls, feature_map: NystromMap) -> Self:
        """Return the noise for a feature map.

        A coordinate of ordinary size has noise 1 in units of `SLOPE`. With a wide kernel most coordinates are tiny, and
        rare rows stand out in them: noise goes with the root of a size, the root mean square over the landmarks.
        """
        sizes = np.sqrt(np.square(feature_map.transform(feature_map.landmarks)).mean(axis=0))
        root = math.sqrt(feature_map.landmarks.shape[1])
        units = np.sqrt(math.sqrt(len(sizes)) * sizes * feature_map.typical_norm())
        return cls(SLOPE / root * np.append(units, 1.0), BEND / root)

    def share(self, question: Question, total: float, heaviest: float) -> float:
        """Return the size of the noise in one summed curvature, as a share of sqrt(H_ii H_jj).

        Where more rows are in the sum than the map has coordinates it is smaller: that of as many rows. ``total`` is
        the sum of all v, the last entry of the curvature's triangle; ``heaviest`` the largest weight of a row.
        """
        rank, most = len(self.slope) - 1, heaviest * LARGEST_JITTER * (1.0 / question.width + EVERYWHERE)
        # No row counts for more than `most`, so there are at least total / most of them.
        return min(self.bend, rank * most / total) if total > 0 else self.bend


def rows_to_blur(rank: int, columns: int, sites: int) -> int:
    """Return how many rows of each site must be random in a cut, lest differences of two cuts be solved for rows.

    A difference of two cuts has rank + 1 numbers and is about 2 * sites * blur random rows at least, each of which has
    as many unknown cells as there are columns, and its factor.
    """
    return math.ceil(2 * (rank + 1) / (sites * (columns + 1)))


def normal(draw: Draw, purpose: str, count: int) -> Floats:
    """Return secret standard normal numbers, shape (count,), by the method of Box and Muller (1958)."""
    half = (count + 1) // 2
    uniform = draw(purpose, 2 * half)
    # 1 - u is never 0.
    radius, angle = np.sqrt(-2.0 * np.log1p(-uniform[:half])), 2.0 * math.pi * uniform[half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]


def noise_in(
    answer: Answer, question: Question, draw: Draw, noise: Noise, *, sites: int, heaviest: float
) -> Answer:
    """Return one site's share of the noise in an answer; the same question always gets the same.

    ``noise`` is its size in the sum of all sites, ``heaviest`` the largest weight of a row in the problem.
    """
    cuts, rank, part = answer.cuts, answer.cuts.a.shape[1], heaviest / math.sqrt(sites)
    a, d, m, loss = (np.zeros(part.shape) for part in (cuts.a, cuts.d, cuts.m, cuts.loss))
    for t, point in enumerate(question.points):
        numbers = part * normal(draw, f"noise {question.blur} {point.tobytes().hex()}", rank + 3)
        slope = noise.slope * numbers[: rank + 1]
        a[t] = slope[:rank]
        d[t] = slope[rank]
        m[t] = slope @ point + HEIGHT * numbers[rank + 1]
        loss[t] = HEIGHT * numbers[rank + 2]
    curvature = _noise_in_curvature(answer.curvature, question, draw, noise, sites, heaviest)
    return Answer(Cuts(a, d, m, loss), curvature)


def _noise_in_curvature(
    curvature: Floats, question: Question, draw: Draw, noise: Noise, sites: int, heaviest: float
) -> Floats:
    """Return the noise in a site's curvature, in shares of its own diagonal."""
    if question.leading < 0:
        return np.empty(0)
    rows, columns = np.tril_indices(question.leading + 1)
    triangle = len(rows)
    diagonal = curvature[:triangle][rows == columns]
    sizes = np.concatenate([np.sqrt(diagonal[rows] * diagonal[columns]), curvature[triangle:]])
    share = noise.share(question, sites * curvature[triangle - 1], heaviest)
    purpose = f"noise curvature {question.width} {question.centre.tobytes().hex()}"
    # The sizes of all sites add up like their numbers, their noise like the root of it.
    found: Floats = share * math.sqrt(sites) * sizes * normal(draw, purpose, len(curvature))
    return found
