"""Floats as integers modulo 2**64, whose sum is exact and can never overflow unnoticed.

With a declared bound, one word holds one value times a power of two. Without one, a value takes five words
(:mod:`flower_pansvm.secure_sum.limbs`).

Precision, per site and value: half of ``1 / scale`` with a bound. So integers are exact whenever
``sites * bound <= 2**62``. The decoded sum is rounded once, to the nearest float64.
"""

from fractions import Fraction
from math import inf

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.secure_sum.contract import Words

HEADROOM_BITS = 62
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
    if bound is None:
        from flower_pansvm.secure_sum.limbs import WIDE_LIMIT, in_limbs  # noqa: PLC0415 - at dp all have bounds

        return in_limbs(_within(WIDE_LIMIT, values, name), sites)
    scaled = np.rint(_within(bound, values, name) * 2.0 ** scale_exponent(bound, sites))
    return scaled.astype(np.int64).view(np.uint64)


def _within(limit: float, values: Floats, name: str) -> Floats:
    """Return the values as one vector after a check that they are finite and within the limit."""
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
    return flat
