"""Floats as integers modulo 2**64, whose sum is exact and can never overflow unnoticed.

With a declared bound, one word holds one value times a power of two. Without one, the value is cut into
five limbs of 52 bits that cover 2**-140 to 2**120; each limb is summed in a word of its own and the limbs
are put together again after the sum.

Precision, per site and value: half of ``1 / scale`` with a bound, 2**-141 without. So integers are exact
whenever ``sites * bound <= 2**62``, and without a bound every float64 of magnitude 2**-88 or more is exact.
The decoded sum is rounded once, to the nearest float64.
"""

from fractions import Fraction
from math import inf

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.secure_sum.contract import Words

HEADROOM_BITS = 62
LIMBS = 5
LIMB_BITS = 52
LOWEST_BIT = -140
WIDE_LIMIT = 2.0 ** (LOWEST_BIT + LIMBS * LIMB_BITS)
WIDE_SITES = 2 ** (HEADROOM_BITS - LIMB_BITS)
MOST_EXPONENT = 1023  # the largest power of two that a float64 holds


def scale_exponent(bound: float, sites: int) -> int:
    """Return the largest e, at most 1023, with ``sites * bound * 2**e <= 2**62``; SettingError if there is none."""
    if not 0 < bound < inf:
        raise SettingError(f"The bound of a secure sum is {bound}; it must be a positive finite number.")
    if sites < 1:
        raise SettingError(f"A secure sum needs at least one site, not {sites}.")
    largest_sum = Fraction(bound) * sites
    ceiling_of_log2 = (largest_sum.numerator - 1).bit_length() - (largest_sum.denominator - 1).bit_length()
    return min(HEADROOM_BITS - ceiling_of_log2, MOST_EXPONENT)


def encode(values: Floats, bound: float | None, sites: int, name: str = "array") -> Words:
    """Return a site's values as words, before anything is sent.

    Parameters
    ----------
    values : ndarray of any shape
        With a bound, a value x becomes the whole number nearest to x 2^e, e as of :func:`scale_exponent`.
    bound : float or None
        The largest absolute value that any one site may hold; None if it is unknown.
    sites : int
        Number of sites in the sum.
    name : str
        Name of the values, for errors.

    Returns
    -------
    ndarray of uint64, shape (values,), or (5 values,) without a bound
        Modulo 2^64, so that a negative number is in the upper half.

    Raises
    ------
    SumError
        If a value is not finite or above the bound; its text names the array and no value.
    """
    limit = WIDE_LIMIT if bound is None else bound
    flat = np.asarray(values, dtype=np.float64).ravel()
    largest = max(flat.max(initial=0.0), -flat.min(initial=0.0))
    if not np.isfinite(largest):
        raise SumError(
            f"{name!r} holds a value that is not finite, which no sum can contain. "
            "Look for missing cells, divisions by zero and overflows in this site's data."
        )
    if largest > limit:
        raise SumError(
            f"{name!r} holds a value whose magnitude is above the agreed bound {limit:g}, so the sum could "
            "overflow. Check this site's data for outliers and units."
        )
    if bound is None:
        return _split(flat, sites)
    scaled = np.rint(flat * 2.0 ** scale_exponent(bound, sites))
    return scaled.astype(np.int64).view(np.uint64)


def _split(flat: Floats, sites: int) -> Words:
    """Return the limbs, highest first, each limb of all values side by side."""
    if sites > WIDE_SITES:
        raise SettingError(
            f"A sum without a declared bound over {sites} sites could overflow. "
            f"Declare a bound, or use at most {WIDE_SITES} sites."
        )
    limbs = np.empty((LIMBS, flat.size), dtype=np.int64)
    remainder = flat * 2.0 ** (-LOWEST_BIT)
    for power in range(LIMBS - 1, 0, -1):
        unit = 2.0 ** (power * LIMB_BITS)
        digit = np.trunc(remainder / unit)
        remainder -= digit * unit
        limbs[LIMBS - 1 - power] = digit
    limbs[LIMBS - 1] = np.rint(remainder)
    return limbs.ravel().view(np.uint64)
