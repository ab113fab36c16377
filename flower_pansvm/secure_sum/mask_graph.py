"""The pairs of sites that share masks or segments, drawn from the public keys of the run so that all sites agree.

A hash of all sites' public keys gives the sites an order, and each is joined to those nearest to it on that circle
(and to the one opposite when the degree is odd). This is the Harary graph: of all graphs with degree k it is one that
falls apart only when k sites are taken out. So k - 1 sites that collude with the coordinator learn no more than the
sum over all others.

The order is the same in all sums of a run, but for sites that are left out. An order drawn anew from the number of the
round trip would let the coordinator go through the numbers until the circles of two sums suit it.
"""

import hashlib
import math
from functools import lru_cache

from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.contract import SumRound

COLLUDING = 1 / 3
"""Share of the sites that may work together with the coordinator where the number of partners is not chosen."""

BROKEN = 2.0**-40
"""Probability that they separate some other sites then, and so learn a sum over fewer than all of these."""


def enough_partners(sites: int) -> int:
    """Return the default number of others that each site shares a mask with: all of a few sites, some of many.

    Sites are separated only if two stretches of the circle, k / 2 places each, collude. Colluding sites do not choose
    their places: a share c of the sites takes one such pair of stretches with probability c^k at the most, and there
    are fewer than sites^2 / 2 pairs (the idea of Bell et al. 2020, section 3, for this graph).
    """
    k = math.log(sites * sites / (2 * BROKEN)) / math.log(1 / COLLUDING)
    return min(2 * math.ceil(k / 2), sites)


@lru_cache(maxsize=64)  # every relay step of a k-secure sum needs the orders of all passes
def public_order(sum_round: SumRound, label: str) -> tuple[str, ...]:
    """Return the roster in a pseudorandom order that all sites can compute, another one for each label."""

    def rank(name: str) -> bytes:
        parts = (field.encode() for field in (sum_round.run, sum_round.keys, label, name))
        return hashlib.sha256(tags.join_fields(tags.ORDER, *parts)).digest()

    return tuple(sorted(sum_round.roster, key=rank))


def partners(sum_round: SumRound, name: str, k: int) -> list[str]:
    """Return the k sites that ``name`` shares a mask with.

    All other sites if there are no more than k; one more than k if k and the number of sites are both odd, as no graph
    gives every site an odd number of partners then.
    """
    order = public_order(sum_round, "mask graph")
    sites = len(order)
    index = order.index(name)
    degree = min(k, sites - 1)
    degree += degree * sites % 2
    distances = [*range(1, degree // 2 + 1), *range(-(degree // 2), 0)]
    if degree % 2:
        distances.append(sites // 2)
    return [order[(index + distance) % sites] for distance in distances]


def receivers(sum_round: SumRound, name: str, segments: int) -> list[str]:
    """Return the sites to which ``name`` hands its ``segments`` segments: those that follow it on the circle."""
    order = public_order(sum_round, "segments")
    index = order.index(name)
    return [order[(index + distance) % len(order)] for distance in range(1, segments + 1)]


def givers(sum_round: SumRound, name: str, segments: int) -> list[str]:
    """Return the sites from which ``name`` receives ``segments`` segments: those before it on the circle."""
    order = public_order(sum_round, "segments")
    index = order.index(name)
    return [order[index - distance] for distance in range(1, segments + 1)]
