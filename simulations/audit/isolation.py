"""Rows that a curious coordinator can single out from the sums it received."""

import itertools

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]
Rows = NDArray[np.int64]
"""Numbers of rows, ascending."""
_Hashes = NDArray[np.int64]
"""Shape (2, sums + 1): modulo each prime, one number per sum; last the vector of zeros."""

UNIT = 2.0**-40
LARGEST_WEIGHT = 2.0**20

# Not modulo 2^64: a weight of 1 is 2^40 units, so that only 24 bits would be left to tell 0/1 weights apart.
_PRIMES: NDArray[np.int64] = np.array([[2**31 - 1], [2**31 - 19]])
_BLOCK = 256


def isolated_by_pairs(c: Weights) -> Rows:
    """Return the rows that the difference of two sums gives away.

    The coordinator holds the sums ``Σ_i c[t, i]·x_i``. Where ``c[s] - c[t]`` is zero in all rows but one, the
    difference of the sums s and t is that row, but for a factor. The vector of zeros counts as one more sum:
    everybody has it.

    Weights are compared in fixed point, rounded to whole multiples of 2^-40: one below half of that is zero.
    Every row returned has been checked on these weights themselves.

    Parameters
    ----------
    c : array (sums, rows)
        Weight of each row in each sum, with its sign.

    Returns
    -------
    array of int
        Numbers of the isolated rows, ascending. At most as many as there are sums.

    Raises
    ------
    ValueError
        If a weight is not finite or beyond ±2^20, where fixed point would overflow.
    """
    return _isolated(c, np.arange(len(c) + 1)[:, np.newaxis])


def isolated_by_quads(c: Weights, limit: int = 3000) -> tuple[Rows, int]:
    """Return the rows that the difference of two differences of sums gives away.

    As `isolated_by_pairs`, for ``(c[s] - c[t]) - (c[u] - c[v])``. Any of the four may be the same, or the vector of
    zeros: pairs are included, and so are ``c[s] + c[v]`` and ``2·c[s] - c[t]``.

    Parameters
    ----------
    c : array (sums, rows)
        Weight of each row in each sum, with its sign.
    limit : int
        Only the last so many sums are looked at. Memory and time grow with the square: 3000 sums make 4.5 million
        sums of two.

    Returns
    -------
    rows : array of int
        Numbers of the isolated rows, ascending.
    looked_at : int
        How many sums were looked at: all of them, or the last `limit`. All their combinations were.

    Raises
    ------
    ValueError
        If a weight is not finite or beyond ±2^20, where fixed point would overflow.
    """
    last = c[max(0, len(c) - limit) :]
    # (c_s - c_t) - (c_u - c_v) is the difference of c_s + c_v and c_t + c_u.
    return _isolated(last, np.stack(np.triu_indices(len(last) + 1), axis=1)), len(last)


def _isolated(c: Weights, vectors: Rows) -> Rows:
    """Return the rows that are the only difference between two vectors, each the sum of some rows of c.

    `vectors` (vectors, terms) numbers the rows of c that each one adds up; ``len(c)`` stands for zeros. The rows of the
    table are halved again and again. Two vectors that differ in one row of a half alone are equal outside of that half,
    so only vectors that have such a twin go on into it. This stays small whatever the weights are: by Han's inequality
    M different vectors make at most M·log2(M) entries in all parts of one depth together.

    Vectors are compared by random linear hashes, so that the hash of a sum is the sum of the hashes. Two that are
    equal are never taken for different. Two different ones are taken for equal with a probability of about 2^-62: a row
    may be missed with that chance, and none is reported wrongly, as each is checked on the weights.
    """
    _check(c)
    rows = c.shape[1]
    if not rows:
        return np.empty(0, dtype=np.int64)
    # No protection rests on these numbers; the same audit should give the same answer.
    multipliers = np.random.default_rng(0).integers(1, _PRIMES, size=(2, rows))
    everywhere = _hashes(c, multipliers, 0, rows)
    different = vectors[np.unique(_hashes_of(vectors, everywhere), return_index=True)[1]]

    found = []
    parts = [(0, rows, different, everywhere)]
    while parts:
        start, stop, twins, inside = parts.pop()
        if stop - start == 1:
            if _differ_only_in(c, twins, start):
                found.append(start)
            continue
        middle = (start + stop) // 2
        left = _hashes(c, multipliers, start, middle)
        right = (inside - left) % _PRIMES
        for first, end, half in ((start, middle, left), (middle, stop, right)):
            equal_outside = _with_twins(twins, _hashes_of(twins, (everywhere - half) % _PRIMES))
            if len(equal_outside):
                parts.append((first, end, equal_outside, half))
    return np.sort(np.array(found, dtype=np.int64))


def _check(c: Weights) -> None:
    """Refuse weights that fixed point cannot hold."""
    # A loop over the sums: the matrix may be large, and a copy of it is not needed.
    if not all(np.abs(weights).max(initial=0.0) <= LARGEST_WEIGHT for weights in c):
        raise ValueError(
            f"A weight is not finite, or beyond ±{LARGEST_WEIGHT:.0f}. Weights of cuts lie in [-1, 1] and those of "
            "curvature sums are of that order: the matrix holds something else. Pass the weights of the rows."
        )


def _fixed_point(weights: Weights) -> NDArray[np.int64]:
    units: NDArray[np.int64] = np.rint(weights / UNIT).astype(np.int64)
    return units


def _hashes(c: Weights, multipliers: Rows, start: int, stop: int) -> _Hashes:
    """Return the hash of each sum over the rows from start to stop."""
    hashes: _Hashes = np.zeros((2, len(c) + 1), dtype=np.int64)
    for first in range(start, stop, _BLOCK):
        block = slice(first, min(first + _BLOCK, stop))
        weights = _fixed_point(c[:, block])
        for lane, prime in enumerate(_PRIMES[:, 0]):
            products = weights % prime * multipliers[lane, block] % prime
            hashes[lane, :-1] += products.sum(axis=1)
    hashes %= _PRIMES
    return hashes


def _hashes_of(vectors: Rows, hashes: _Hashes) -> NDArray[np.int64]:
    """Return one number per vector, that of both primes in one."""
    first, second = hashes[:, vectors].sum(axis=2) % _PRIMES
    both: NDArray[np.int64] = first << 31 | second
    return both


def _with_twins(vectors: Rows, hashes: NDArray[np.int64]) -> Rows:
    """Return the vectors whose hash another one has too, those of equal hash side by side."""
    order = np.argsort(hashes)
    ordered = hashes[order]
    as_next = np.append(ordered[1:] == ordered[:-1], False)
    return vectors[order[as_next | np.roll(as_next, 1)]]


def _differ_only_in(c: Weights, twins: Rows, row: int) -> bool:
    """Return whether two neighbours among vectors of equal hash do differ in this row and in no other."""
    # The first two do, unless their hashes are equal by chance.
    return any(
        np.array_equal(np.flatnonzero(_sum(c, one) - _sum(c, other)), [row])
        for one, other in itertools.pairwise(twins)
    )


def _sum(c: Weights, terms: Rows) -> NDArray[np.int64]:
    total: NDArray[np.int64] = _fixed_point(c[terms[terms < len(c)]]).sum(axis=0)
    return total
