"""Discrete Laplace and Gaussian noise, drawn exactly, from cryptographic bits.

Canonne, Kamath, Steinke 2020, Algorithms 1 to 3, many numbers at a time. Noise in floating point gives sums away by
its low bits (Mironov 2012); these are whole numbers. A coin is decided in double precision where that is sure, and else
with 100 digits: about one in 2^44 tosses.
"""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from flower_pansvm.arrays import Bools, Floats, Ints

Bits = Callable[[int], NDArray[np.uint64]]
"""Returns as many new random words as asked."""

SURE = 2.0**-45
"""Far more than all rounding of a probability and of the random number that it is compared with."""

LARGEST_SCALE = 2**44
"""Largest deviation or scale: products with the largest numbers that are drawn stay exact in double precision."""


def random_bits(key: bytes) -> Bits:
    """Return a source of random words: AES-256 in counter mode under a key of 32 bytes that serves only once."""
    cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
    return lambda count: np.frombuffer(cipher.update(bytes(8 * count)), dtype="<u8").astype(np.uint64)


def discrete_gaussian(sigma: int, size: int, bits: Bits) -> Ints:
    """Return numbers k with probability proportional to exp(-k² / (2 sigma²)), shape (size,).

    ``sigma`` is from 1 to `LARGEST_SCALE`, and the deviation, but for tiny ones; ``bits`` as :func:`random_bits`
    returns.
    """
    scale, variance = sigma + 1, sigma**2

    def draw(count: int) -> Ints:
        draws = discrete_laplace(scale, count, bits)
        off = np.abs(draws) - variance / scale

        def gamma(index: int) -> Fraction:
            return Fraction((abs(int(draws[index])) * scale - variance) ** 2, 2 * variance * scale**2)

        return draws[_coins(np.square(off / sigma) / 2, gamma, bits)]

    return _enough(draw, size)


def discrete_laplace(scale: int, size: int, bits: Bits) -> Ints:
    """Return numbers k with probability proportional to exp(-|k| / scale), shape (size,); parameters as above."""
    if not 1 <= scale <= LARGEST_SCALE:
        raise ValueError(f"The scale of noise must be from 1 to 2^44. Found {scale}.")

    def draw(count: int) -> Ints:
        u = _below(scale, count, bits)
        u = u[_coins(u / scale, lambda index: Fraction(int(u[index]), scale), bits)]
        magnitude = u + scale * _geometric(len(u), bits)
        negative = bits(len(magnitude)) >> np.uint64(63) == 1
        # Zero has one sign only, else it came twice as often.
        signed: Ints = np.where(negative, -magnitude, magnitude)[~(negative & (magnitude == 0))]
        return signed

    return _enough(draw, size)


def _enough(draw: Callable[[int], Ints], size: int) -> Ints:
    """Return so many of the numbers that are not rejected."""
    parts, missing = [np.empty(0, dtype=np.int64)], size
    while missing > 0:
        parts.append(draw(missing + missing // 2 + 16)[:missing])
        missing -= len(parts[-1])
    return np.concatenate(parts)


def _below(limit: int, size: int, bits: Bits) -> Ints:
    """Return whole numbers from 0 to below a limit, each as likely."""
    mask = np.uint64((1 << (limit - 1).bit_length()) - 1)

    def draw(count: int) -> Ints:
        draws = (bits(2 * count) & mask).astype(np.int64)
        return draws[draws < limit]

    return _enough(draw, size)


def _geometric(size: int, bits: Bits) -> Ints:
    """Return how often in a row a coin of probability 1/e falls on its side, shape (size,)."""
    counts, open_ = np.zeros(size, dtype=np.int64), np.arange(size)
    while len(open_):
        open_ = open_[_coins(np.ones(len(open_)), lambda _: Fraction(1), bits)]
        counts[open_] += 1
    return counts


def _coins(gamma: Floats, exact: Callable[[int], Fraction], bits: Bits) -> Bools:
    """Toss a coin of probability exp(-gamma) for each of the gammas; ``exact`` returns one of them as a fraction."""
    words = bits(len(gamma))
    over = np.exp(-gamma) - words.astype(np.float64) * 2.0**-64
    fallen: Bools = over > 0
    for index in np.flatnonzero(np.abs(over) <= SURE):
        fallen[index] = _coin(exact(int(index)), int(words[index]), bits)
    return fallen


def _coin(gamma: Fraction, word: int, bits: Bits) -> bool:
    """Toss one of them with 256 random bits, of which ``word`` are the first 64."""
    for extra in bits(3):
        word = (word << 64) + int(extra)
    with localcontext() as context:
        context.prec = 100
        return (
            Decimal(word) / Decimal(2**256) < (-Decimal(gamma.numerator) / Decimal(gamma.denominator)).exp()
        )


def sigma_of(sensitivity: float, rho: float, sites: int, unit: float) -> int:
    """Return the deviation, in whole units, of one site's noise such that the noise of all ``sites`` costs ``rho``.

    ``sensitivity`` is the largest change of the answer by one row, in 2-norm; ``rho`` the cost of the answer, zCDP;
    ``sites`` the number of sites that add such noise and keep theirs secret; ``unit`` is 1 in units of the noise.
    """
    return math.ceil(sensitivity * unit / math.sqrt(2 * rho * sites))
