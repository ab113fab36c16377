"""Floats as integers modulo 2**64, whose sum is exact where all values keep to their bound.

With a declared bound, one word holds one value times a power of two. Without one, a value takes five words
(:mod:`flower_pansvm.secure_sum.limbs`).

Precision, per site and value: half of ``1 / scale`` with a bound. So integers are exact whenever
``sites * bound <= 2**62``. The decoded sum is rounded once, to the nearest float64.
"""

from fractions import Fraction
from math import inf

import numpy as np

from flower_pansvm.arrays import Floats, modular
from flower_pansvm.errors import SettingError
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


def encode(values: Floats, bound: float | None, sites: int) -> Words:
    """Return a site's values as words, before anything is sent.

    Nothing is refused. A refusal would say of one site that its value is too large, and whoever chooses points or units
    chooses what is: trying some, it would find the value. Where all sites keep to the bound, no word goes round.

    Parameters
    ----------
    values : ndarray of any shape
        With a bound, a value x becomes the whole number nearest to x 2^e, e as of :func:`scale_exponent`; one that is
        not finite becomes 0.
    bound : float or None
        The largest absolute value that any one site may hold; None if it is unknown.
    sites : int
        Number of sites in the sum.

    Returns
    -------
    ndarray of uint64, shape (values,), or (5 values,) without a bound
        Modulo 2^64, so that a negative number is in the upper half.
    """
    flat = np.asarray(values, dtype=np.float64).ravel()
    with np.errstate(over="ignore"):
        if bound is None:
            from flower_pansvm.secure_sum.limbs import in_limbs  # noqa: PLC0415 - at dp all have bounds

            return in_limbs(flat, sites)
        return modular(np.rint(flat * 2.0 ** scale_exponent(bound, sites))).view(np.uint64)
