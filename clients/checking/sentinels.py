"""Numbers that stand for a missing cell, such as 0 for cholesterol or -999."""

import numpy as np

from clients.checking.cells import COMMON
from flower_pansvm.arrays import Floats

UNLIKELY = (-999.0, -9999.0, -99.0, -9.0, 999.0, 9999.0, 99999.0)
"""Written for a missing cell, and hardly ever measured."""

LIKELY = (0.0, -1.0, 9.0, 99.0)
"""Written for a missing cell, and often measured, too."""

LEAST = 2
"""Fewest cells that are one code."""

FENCE = 3.0
"""Interquartile ranges beyond which a number is far out (Tukey 1977)."""

PILE = 0.05
"""Share of a column's cells from which one number is suspicious, where others hardly repeat."""

USUAL_STEPS = 5.0
"""Steps between neighbouring numbers within which the last one belongs to the others."""

VARIED = 20
"""Different numbers from which a column is one of measurements, which hardly repeat."""


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


def piled_up(values: Floats) -> tuple[float, bool] | None:
    """Return the number that many cells share where others hardly repeat, and whether it may be a limit; or None.

    It is a code for a missing cell, what missing cells were filled with, or, at an end of the column and no farther
    from its neighbour than other numbers are, a limit of what can be measured.

    Parameters
    ----------
    values : ndarray of shape (rows,)
        Numbers; NaN is missing.

    Examples
    --------
    >>> piled_up(np.array([0.0] * 30 + [*np.arange(1.1, 8, 0.1)]))
    (0.0, False)
    >>> piled_up(np.array([0.0, 1, 2, 3] * 30)) is None
    True
    """
    numbers, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if len(numbers) < VARIED:
        return None
    most = int(np.argmax(counts))
    others = np.delete(counts, most)
    enough = max(COMMON, PILE * counts.sum(), 2 * others.max(), 5 * others.mean())
    if counts[most] < enough:
        return None
    steps = np.diff(numbers)
    next_step = {0: steps[0], len(steps): steps[-1]}.get(most, np.inf)
    return float(numbers[most]), bool(next_step <= USUAL_STEPS * np.median(steps))
