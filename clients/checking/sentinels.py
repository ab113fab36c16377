"""Numbers that stand for a missing cell, such as 0 for cholesterol or -999."""

import math
import re
from collections.abc import Sequence

import numpy as np

from clients.checking.cells import COMMON
from flower_pansvm.arrays import Floats, Ints

UNLIKELY = (-999.0, -9999.0, -99.0, -9.0, 999.0, 9999.0, 99999.0)
"""Written for a missing cell, and hardly ever measured."""

LIKELY = (0.0, -1.0, 9.0, 99.0)
"""Written for a missing cell, and often measured, too."""

LEAST = 2
"""Fewest cells that are one code."""

OFTEN, OFTEN_OF_ALL = 5, 0.02
"""Cells, and share of all, that have a number on no list for it to be taken for a code; the lesser of both."""

FENCE = 3.0
"""Interquartile ranges beyond which a number is far out (Tukey 1977)."""

PILE = 0.05
"""Share of a column's cells from which one number is suspicious, where others hardly repeat."""

USUAL_STEPS = 5.0
"""Steps between neighbouring numbers within which the last one belongs to the others."""

MOST_NEGATIVE = 5
"""Negative numbers that are all codes."""

NEAREST = 10
"""Neighbours of a number far out which hardly repeat where it is a code."""

TWICE_A_DIGIT = [float(digit * times) for times in (2, 3, 4) for digit in "789"]
"""Codes that can lie among what is measured, such as 88 and 99 among ages: only how often they come tells them."""

OF_SCALES = (-9.0, -8.0, -7.0, -1.0, 7.0, 8.0, 9.0, 77.0, 88.0, 96.0, 97.0, 98.0, 99.0)
"""Written beside a scale, or yes and no, where nobody knows, refuses or has not been asked."""

VARIED = 20
"""Different numbers from which a column is one of measurements, which hardly repeat."""


def sentinels(values: Floats) -> list[float]:
    """Return the numbers in a column that are most likely codes for a missing cell.

    They are at an end of the column, far out from nearly all others, and not alone. Of the usual codes two cells are
    enough; any other number has to be repeated, and either look like a code or have neighbours that hardly repeat.

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
    >>> sentinels(np.array([*np.arange(40.0, 90), *[888.0] * 5, *[-7.0] * 5]))
    [888.0, -7.0]
    """
    there = values[~np.isnan(values)]
    codes: list[float] = []
    for code in (*UNLIKELY, *LIKELY):
        if np.count_nonzero(there == code) < LEAST:
            continue
        rest = without_sentinels(there[there != code], codes)
        numbers = np.unique(rest)
        if len(numbers) < (2 if code in UNLIKELY else 5) or (code in LIKELY and _is_a_step(code, numbers)):
            continue
        if _is_far_out(code, rest, np.subtract(*np.quantile(rest, [0.75, 0.25]))):
            codes.append(code)
    return [*codes, *_repeated_codes(without_sentinels(there, codes))]


def without_sentinels(values: Floats, codes: Sequence[float]) -> Floats:
    """Return the numbers that are none of the codes, shape (rows,)."""
    # Thousands of columns have no code, and this is quicker than to look.
    return values[~np.isin(values, codes)] if codes else values


def codes_beside_scale(values: Floats) -> list[float]:
    """Return the numbers beside a scale of whole numbers that may be codes for a missing cell: only people know.

    They are at the end of a scale of few and more than two of its steps away, or the only negative ones.

    Parameters
    ----------
    values : ndarray of shape (rows,)
        Numbers; NaN is missing.

    Examples
    --------
    >>> codes_beside_scale(np.array([0.0, 1, 0, 1, 9, 9]))
    [9.0]
    >>> codes_beside_scale(np.array([1.0, 2, 3, 4, 5, 6, 7, 7]))
    []
    >>> codes_beside_scale(np.array([*np.arange(31.0), *[-1.0] * 5]))
    [-1.0]
    """
    numbers, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if not (np.isfinite(numbers).all() and (numbers % 1 == 0).all()):
        return []
    varied = len(numbers) >= VARIED
    known = np.isin(numbers, OF_SCALES) & (counts >= (OFTEN if varied else LEAST))
    negative = numbers < 0
    low = int(negative.sum()) if (known | ~negative).all() else 0
    high = len(numbers) - int(np.argmin(known[::-1])) if not known.all() else len(numbers)
    scale = numbers[low:high]
    if len(scale) < 2:
        return []
    far = not varied and high < len(numbers) and numbers[high] - scale[-1] > 2 * np.diff(scale).max()
    return [*numbers[:low].tolist(), *(numbers[high:].tolist() if far else [])]


def _is_a_step(code: float, numbers: Floats) -> bool:
    """Tell whether a number goes on the others, sorted, as 0 visits do, or is negative as many of them are."""
    gap = np.abs(numbers - code).min()
    negative = code < 0 and np.count_nonzero(numbers < 0) > MOST_NEGATIVE
    return bool(negative or gap <= USUAL_STEPS * np.median(np.diff(numbers)))


def _is_far_out(code: float, rest: Floats, spread: float) -> bool:
    """Tell whether a number is beyond nearly all others: one cell farther out may be a typing error."""
    low, high = np.quantile(rest, [0.25, 0.75])
    below, above = np.count_nonzero(rest < code), np.count_nonzero(rest > code)
    reach = FENCE * spread
    return bool((below < LEAST and code < low - reach) or (above < LEAST and code > high + reach))


def _repeated_codes(there: Floats) -> list[float]:
    """Return numbers at the ends, the farthest first, that are codes as they are repeated; ``there`` has no others."""
    enough = min(OFTEN, max(LEAST, OFTEN_OF_ALL * len(there)))
    chosen: list[float] = []
    there, least = np.sort(there[np.isfinite(there)]), math.ceil(enough)
    # Told quickly, as of most of thousands of columns: at an end, but for a single cell, none is there so often.
    if len(there) <= least or not any(
        end[0] == end[least - 1] or end[1] == end[least] for end in (there, there[::-1])
    ):
        return chosen
    numbers, counts = np.unique(there, return_counts=True)
    below = numbers < 0
    if 0 < below.sum() <= MOST_NEGATIVE and counts[below].min() >= enough and (~below).sum() >= 5:
        # Negative ones where what is measured never is: -9, -8 and -7 for reasons why it was not.
        codes, rest = numbers[below], numbers[~below]
        if (codes % 1 == 0).all() and rest[0] - codes[-1] > USUAL_STEPS * np.median(np.diff(rest)):
            chosen += codes.tolist()
    for side in (-1, 1):
        # From the end on, as long as each is one; a single cell farther out is passed over.
        for index in range(len(numbers))[::-side]:
            if numbers[index] in chosen:
                continue
            code, count = float(numbers[index]), counts[index]
            others = (numbers != code) & ~np.isin(numbers, chosen)
            if count < LEAST and index == (len(numbers) - 1 if side > 0 else 0):
                continue
            if count < enough or others.sum() < 5:
                break
            if not _is_repeated_code(code, count, numbers[others], counts[others]):
                break
            chosen.append(code)
    return sorted(chosen, reverse=True)


def _is_repeated_code(code: float, count: int, numbers: Floats, counts: Ints) -> bool:
    """Tell whether a number at an end, which so many cells have, is a code beside others with their counts."""
    rest = np.repeat(numbers, counts)
    gap = float(np.abs(numbers - code).min())
    quartiles = np.quantile(rest, [0.25, 0.75])
    # Where most cells are the same, such as no visit, what is rare is far out and no code.
    spread = float(np.ptp(quartiles) or np.ptp(rest))
    if not _is_far_out(code, rest, spread):
        return False
    if re.fullmatch("7{2,}|8{2,}|9{2,}", f"{abs(code):g}"):
        return True
    nearest = counts[np.argsort(np.abs(numbers - code))[:NEAREST]]
    return bool(len(numbers) >= VARIED and gap > FENCE * spread and count >= 3 * nearest.max())


def heaps(values: Floats) -> list[tuple[float, bool]]:
    """Return numbers that many cells share where others hardly repeat, and of each whether it may be a limit.

    It is a code for a missing cell, what missing cells were filled with, or, at an end of the column and no farther
    from its neighbour than other numbers are, a limit of what can be measured.

    Parameters
    ----------
    values : ndarray of shape (rows,)
        Numbers; NaN is missing.

    Examples
    --------
    >>> heaps(np.array([0.0] * 30 + [*np.arange(1.1, 8, 0.1)]))
    [(0.0, False)]
    >>> heaps(np.array([0.0, 1, 2, 3] * 30))
    []
    """
    numbers, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if len(numbers) < VARIED:
        return []
    piles = []
    for index in np.flatnonzero(np.isin(numbers, TWICE_A_DIGIT) & (counts >= OFTEN)):
        near = np.argsort(np.abs(numbers - numbers[index]))[1 : NEAREST + 1]
        apart = np.abs(numbers[near[0]] - numbers[index]) > USUAL_STEPS * np.median(np.diff(numbers))
        if counts[index] >= (2.0 if apart else 2.5) * counts[near].max():
            piles.append((float(numbers[index]), False))
    most = int(np.argmax(counts))
    others = np.delete(counts, most)
    enough = max(COMMON, PILE * counts.sum(), 2 * others.max(), 5 * others.mean())
    if counts[most] < enough or numbers[most] in [value for value, _ in piles]:
        return piles
    steps = np.diff(numbers)
    next_step = {0: steps[0], len(steps): steps[-1]}.get(most, np.inf)
    return [*piles, (float(numbers[most]), bool(next_step <= USUAL_STEPS * np.median(steps)))]
