"""Values of unknown size in a secure sum: five limbs of 52 bits, which cover 2**-140 to 2**120.

Each limb is summed in a word of its own, and the limbs are put together again after the sum. Precision, per site and
value: 2**-141, and every float64 of magnitude 2**-88 or more is exact.
"""

import numpy as np

from flower_pansvm.arrays import Floats, modular
from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum.contract import Words

LIMBS = 5
LIMB_BITS = 52
LOWEST_BIT = -140
WIDE_LIMIT = 2.0 ** (LOWEST_BIT + LIMBS * LIMB_BITS)
WIDE_SITES = 2**10  # the sum of a limb stays within 62 bits


def in_limbs(flat: Floats, sites: int) -> Words:
    """Return the limbs, highest first, each of all values side by side; SettingError for more than `WIDE_SITES`."""
    if sites > WIDE_SITES:
        raise SettingError(
            f"A sum without a declared bound over {sites} sites could overflow. "
            f"Declare a bound, or use at most {WIDE_SITES} sites."
        )
    limbs = np.empty((LIMBS, flat.size), dtype=np.int64)
    remainder = flat * 2.0 ** (-LOWEST_BIT)
    remainder[~np.isfinite(remainder)] = 0.0
    for power in range(LIMBS - 1, 0, -1):
        unit = 2.0 ** (power * LIMB_BITS)
        digit = np.trunc(remainder / unit)
        remainder -= digit * unit
        limbs[LIMBS - 1 - power] = modular(digit)
    limbs[LIMBS - 1] = np.rint(remainder)
    return limbs.ravel().view(np.uint64)
