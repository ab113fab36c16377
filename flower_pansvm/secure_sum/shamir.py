"""Shamir's secret sharing (1979), Communications of the ACM 22(11): a threshold of shares gives the secret.

A secret is 32 bytes, read as a number; a share is a point of a random polynomial modulo a prime above all such numbers.
"""

import secrets
from collections.abc import Mapping
from functools import lru_cache

from flower_pansvm.errors import SumError

PRIME = 2**256 + 297
SECRET_BYTES = 32
SHARE_BYTES = 33
DRAWN_BYTES = 48  # of a coefficient: 16 more than the prime has, so that its rest is uniform but for 2**-127


def split(secret: bytes, holders: int, threshold: int) -> list[bytes]:
    """Return a share of 33 bytes for each of ``holders`` holders of a secret of 32 bytes, by their places."""
    drawn = (secrets.token_bytes(DRAWN_BYTES) for _ in range(threshold - 1))
    # The highest power first, the secret last.
    polynomial = [*(int.from_bytes(draw, "big") % PRIME for draw in drawn), int.from_bytes(secret, "big")]
    shares = []
    for x in range(1, holders + 1):
        value = 0
        for coefficient in polynomial:
            value = (value * x + coefficient) % PRIME
        shares.append(value.to_bytes(SHARE_BYTES, "big"))
    return shares


def combine(shares: Mapping[int, bytes]) -> bytes:
    """Return the secret whose shares, exactly as many as the threshold, are given by their holders' places, from 0.

    SumError if they are shares of no secret. Other changed shares give a wrong secret, and so a wrong sum.
    """
    weights = _weights(tuple(shares))
    values = (int.from_bytes(share, "big") for share in shares.values())
    secret = sum(weight * value for weight, value in zip(weights, values, strict=True)) % PRIME
    if secret >> (8 * SECRET_BYTES):
        raise SumError(
            "The shares of a secret do not fit together: a site has sent others than it received. Repeat the sum; if "
            "it happens again, leave out one site after the other."
        )
    return secret.to_bytes(SECRET_BYTES, "big")


@lru_cache(maxsize=8)
def _weights(points: tuple[int, ...]) -> list[int]:
    """Return the Lagrange weights, for the value at 0, of these points."""
    weights = []
    for point in points:
        above = below = 1
        for other in points:
            if other != point:
                above = above * (other + 1) % PRIME
                below = below * (other - point) % PRIME
        weights.append(above * pow(below, -1, PRIME) % PRIME)
    return weights
