"""Vectors and fields as bytes, and the checks on what arrives: what does not fit is a SumError."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound, Words


def join_fields(*fields: bytes) -> bytes:
    """Return the fields one after the other, each with its length in front as eight bytes."""
    return b"".join(len(field).to_bytes(8, "big") + field for field in fields)


@lru_cache(maxsize=8)
def sum_context(this: SumRound) -> bytes:
    """Return the bytes that stand for one sum: run, round trip, attempt, task, roster and the keys of the run."""
    return join_fields(
        this.run.encode(),
        this.round_trip.to_bytes(8, "big"),
        this.attempt.to_bytes(8, "big"),
        this.task.encode(),
        join_fields(*(name.encode() for name in this.roster)),
        this.keys.encode(),
    )


def keys_digest(published: Mapping[str, bytes]) -> str:
    """Return a digest of what all sites of a run have published when they joined, lost sites included.

    ``published`` holds the X25519 public key of each site, then what its protocol added, by name.
    """
    parts = [part for name, keys in sorted(published.items()) for part in (name.encode(), keys)]
    return hashlib.sha256(join_fields(*parts)).hexdigest()


def to_bytes(words: Words) -> bytes:
    """Return the words, shape (words,), as little-endian bytes, eight for each."""
    return words.astype("<u8", copy=False).tobytes()


def from_bytes(payload: bytes, sender: str) -> Words:
    """Return the words that :func:`to_bytes` wrote; ``sender`` is named when it cannot be done."""
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
            f"The vector from {sender!r} has {words.size} words where {expected} belong. The message was cut "
            "short, or the sites do not work on the same task; check that they run the same version."
        )
    return words


def everyone(payloads: Mapping[str, bytes], this: SumRound, fewest: int | None = None) -> None:
    """Check that there are payloads from all sites of the roster, or from ``fewest``, and none from others."""
    missing = [name for name in this.roster if name not in payloads]
    unknown = [name for name in payloads if name not in this.roster]
    needed = len(this.roster) if fewest is None else fewest
    if len(payloads) - len(unknown) < needed or unknown:
        raise SumError(
            f"The sum needs one payload from each of {needed} sites of the roster; missing: {missing}, not in the "
            f"roster: {unknown}. Repeat the sum with the sites that are left, under a new attempt."
        )


def add_all(payloads: Mapping[str, bytes], this: SumRound, fewest: int | None = None) -> Words:
    """Return the sum modulo 2**64 over the vectors of all sites, or at least ``fewest``, at the coordinator."""
    everyone(payloads, this, fewest)
    first, *others = (name for name in this.roster if name in payloads)
    total = from_bytes(payloads[first], first)
    for name in others:
        total += same_length(from_bytes(payloads[name], name), total.size, name)
    return total
