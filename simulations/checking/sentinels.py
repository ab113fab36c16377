"""Numbers that stand for a missing cell, such as 0 for cholesterol or -999."""

import numpy as np

from flower_pansvm.arrays import Floats

UNLIKELY = (-999.0, -9999.0, -99.0, -9.0, 999.0, 9999.0, 99999.0)
"""Written for a missing cell, and hardly ever measured."""

LIKELY = (0.0, -1.0, 9.0, 99.0)
"""Written for a missing cell, and often measured, too."""

LEAST = 2
"""Fewest cells that are one code."""

FENCE = 3.0
"""Interquartile ranges beyond which a number is far out (Tukey 1977)."""


def sentinels(values: Floats) -> list[float]:
    """Return the numbers in a column that are most likely codes for a missing cell.

    They are at an end of the column, far out from nearly all others, and not alone.

    Parameters
    ----------
    values : ndarray of shape (rows,)
        Numbers; NaN is missing.

    Examples
    --------
    >>> sentinels(np.array([212.0, 0, 305, 0, 250, 233, 198, 261]))
    [0.0]
    >>> sentinels(np.array([0.0, 1, 0, 2, 0, 1, 0, 3]))
    []
    """
    there = values[~np.isnan(values)]
    found: list[float] = []
    for code in (*UNLIKELY, *LIKELY):
        if np.count_nonzero(there == code) < LEAST:
            continue
        rest = there[(there != code) & ~np.isin(there, found)]
        if len(np.unique(rest)) < (2 if code in UNLIKELY else 5):
            continue
        low, high = np.quantile(rest, [0.25, 0.75])
        reach = FENCE * (high - low)
        # One cell beyond may be a typing error.
        below, above = np.count_nonzero(rest < code), np.count_nonzero(rest > code)
        if (below < LEAST and code < low - reach) or (above < LEAST and code > high + reach):
            found.append(code)
    return found
