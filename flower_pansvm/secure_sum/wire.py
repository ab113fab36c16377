"""Vectors as bytes, and the checks of received bytes, which raise SumErrors."""

from collections.abc import Mapping

import numpy as np

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound, Words


def to_bytes(words: Words) -> bytes:
    """Return the words, shape (words,), as little-endian bytes, eight for each."""
    return words.astype("<u8", copy=False).tobytes()


def from_bytes(payload: bytes, sender: str) -> Words:
    """Return the words that :func:`to_bytes` wrote; a SumError names the ``sender``."""
    if len(payload) % 8:
        raise SumError(
            f"The vector from {sender!r} has {len(payload)} bytes, which is no whole number of 64-bit words. "
            "The message was cut short or changed on its way; repeat the sum."
        )
    return np.frombuffer(payload, dtype="<u8").astype(np.uint64)


def same_length(words: Words, expected: int, sender: str) -> Words:
    """Return ``words`` if it has the expected number of words."""
    if words.size != expected:
        raise SumError(
            f"The vector from {sender!r} has {words.size} words, expected {expected}. The message was cut short, or "
            "the sites do not work on the same task; check that they run the same version."
        )
    return words


def check_roster(payloads: Mapping[str, bytes], sum_round: SumRound, fewest: int | None = None) -> None:
    """Check that there are payloads from all sites of the roster, or from ``fewest``, and none from others."""
    missing = [name for name in sum_round.roster if name not in payloads]
    unknown = [name for name in payloads if name not in sum_round.roster]
    needed = len(sum_round.roster) if fewest is None else fewest
    if len(payloads) - len(unknown) < needed or unknown:
        raise SumError(
            f"The sum needs one payload from each of {needed} sites of the roster; missing: {missing}, not in the "
            f"roster: {unknown}. Repeat the sum with the sites that are left, under a new attempt."
        )


def add_all(payloads: Mapping[str, bytes], sum_round: SumRound, fewest: int | None = None) -> Words:
    """Return the sum modulo 2**64 over the vectors of all sites, or at least ``fewest``, at the coordinator."""
    check_roster(payloads, sum_round, fewest)
    first, *others = (name for name in sum_round.roster if name in payloads)
    total = from_bytes(payloads[first], first)
    for name in others:
        total += same_length(from_bytes(payloads[name], name), total.size, name)
    return total
