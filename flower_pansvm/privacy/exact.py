"""Exact arithmetic of dp sums: a row's part in a sum is a function of that row alone, bit for bit.

Floating point does not give that. A matrix product rounds a row differently with one row more, and a coordinator that
chooses map and weights can let that last bit decide the parts of all rows. So every number between a cell and a sum is
a multiple of a power of two, its step, and small enough that all sums of products, of any subset and in any order, stay
below 2^53 steps. Double precision holds each of them, so none is ever rounded: not with another BLAS, another number of
threads, or other rows.

=================  =====  ========================================  ===========================
number             step   at most                                   sums of products, in steps
=================  =====  ========================================  ===========================
scaled cell        2^-12  8
frequency          2^-18  64 turns                                  2048 cells: 2^50
phase              2^-16  1 turn
feature, slope     2^-14  1, and so is the 2-norm of a row of them  2^24 rows: 2^52
weight             2^-16  2^14                                      a row's features: 2^50
=================  =====  ========================================  ===========================

Operations on single numbers on the way (a quotient, a square root, a cut) are rounded by IEEE 754, which knows no
other rows.
"""

from collections.abc import Iterator

import numpy as np

from flower_pansvm.arrays import Floats, blocks

CELL_STEP, LARGEST_CELL = 2.0**-12, 8.0
FREQUENCY_STEP, LARGEST_FREQUENCY = 2.0**-18, 64.0
WEIGHT_STEP, LARGEST_WEIGHT = 2.0**-16, 2.0**14
STEP = 2.0**-14
UNIT = STEP**-2
"""1 in the steps of sums of products of features and slopes."""

TURN = 2**16
"""Phases in a turn."""

MOST_COLUMNS, MOST_FEATURES = 2048, 4096
"""Of a table, and of a map."""

BLOCK_NUMBERS = 2**20
"""Numbers of a block of rows: a coordinator that chooses how many features a row has does not choose the memory."""

JUST_BELOW = 1 - 2.0**-30
"""More than all rounding of a cosine or a length: a vector multiplied by it and cut off never gets longer."""

COSINES: Floats = np.cos(2 * np.pi / TURN * np.arange(TURN))


def row_blocks(rows: int, numbers: int) -> Iterator[slice]:
    """Return the slices that make up all rows, of so many numbers a row, each of about `BLOCK_NUMBERS` numbers."""
    return blocks(rows, max(1, BLOCK_NUMBERS // max(numbers, 1)))


def rounded(values: Floats, step: float, largest: float) -> Floats:
    """Return the nearest multiples of a step within ±largest, of the same shape; 0 for NaN."""
    with np.errstate(invalid="ignore"):
        nearest: Floats = np.rint(np.clip(np.nan_to_num(values, nan=0.0), -largest, largest) / step) * step
    return nearest


def in_turns(frequencies: Floats) -> Floats:
    """Return frequencies in radians as the maps take them: in turns, shape (frequencies, columns)."""
    return rounded(frequencies / (2 * np.pi), FREQUENCY_STEP, LARGEST_FREQUENCY)


def is_exact(values: Floats, step: float, largest: float) -> bool:
    """Return whether all values are multiples of a step within ±largest."""
    return bool(np.all(np.abs(values) <= largest) and np.all(np.rint(values / step) * step == values))


def cut(value: float) -> float:
    """Return a number a little nearer to 0 that is a multiple of `STEP`."""
    return float(np.trunc(value * JUST_BELOW / STEP)) * STEP


def shortened(rows: Floats, step: float, longest: float, least: float) -> Floats:
    """Return rows divided by their length, or by ``least`` if they are shorter, and multiplied by ``longest``.

    A row's length is taken to be the whole number of steps above it. So the result is shorter than ``longest`` by at
    least one part in 2^43, more than a quotient's rounding, and cutting it to the step shortens it further.

    Parameters
    ----------
    rows : ndarray of shape (rows, numbers)
        Multiples of ``step``, of a 2-norm of at most 2^21 steps.
    step : float
        Their step.
    longest : float
        Largest 2-norm of the result, a multiple of `STEP`.
    least : float
        The least length.

    Returns
    -------
    ndarray of shape (rows, numbers)
        Multiples of `STEP`.
    """
    in_steps = rows / step
    length = np.floor(np.sqrt(np.einsum("ij,ij->i", in_steps, in_steps))) + 1
    quotients = in_steps * (longest / STEP) / np.maximum(length, least / step)[:, None]
    short: Floats = np.trunc(quotients) * STEP
    return short


def waves(cells: Floats, frequencies: Floats, amplitude: float) -> tuple[Floats, Floats]:
    """Return cosines and sines of cells, each of shape (rows, frequencies), multiples of `STEP`.

    They are looked up by phase, and cut towards 0, so that their squares add up to at most the amplitude's.

    Parameters
    ----------
    cells : ndarray of shape (rows, columns)
        Multiples of `CELL_STEP`.
    frequencies : ndarray of shape (frequencies, columns)
        Turns for a cell of 1, multiples of `FREQUENCY_STEP`.
    amplitude : float
        A multiple of `STEP`, at most 1.
    """
    table = np.trunc(amplitude * JUST_BELOW / STEP * COSINES) * STEP
    phases = np.floor(cells @ frequencies.T * TURN).astype(np.int64)
    return table[phases % TURN], table[(phases - TURN // 4) % TURN]
