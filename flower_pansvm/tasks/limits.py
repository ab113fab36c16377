"""The largest value that a site may hold in a secure sum: what the bounds of several tasks are made of.

Bounds do not travel. A site refuses a value above a bound, so a coordinator that chose the bounds could search for the
sites' values, one run after the other. They follow from constants, from the settings and from the request itself, all
of which are in the sum's name (:func:`flower_pansvm.tasks.task.sum_name`).
"""

import math

UNKNOWN = math.inf
"""Bound of results of unknown size; they take five words a number (:mod:`flower_pansvm.secure_sum.fixed_point`)."""

COUNT = 2.0**40  # bound for numbers of rows: no federation holds more

MOST_ROWS = 2**24
"""Most rows that a site trains on; a site with more refuses to take part, whatever it is asked."""

LARGEST_CELL = 2.0**20
"""Largest cell, in units of a scaling that knows its column: standard deviations, of which a cell is at most the square
root of the number of all rows away from the mean, or half ranges."""

HEADROOM = 2.0  # what the bounds leave for rounding


def largest_total(sites: int) -> float:
    """Return the largest sum of a scaled column's absolute cells at one site.

    Over all sites the squares of a scaled column add up to the number of rows at most, ``sites * MOST_ROWS``. A sum of
    ``MOST_ROWS`` absolute values is largest where all are the same.
    """
    return MOST_ROWS * math.sqrt(sites)


PRIVATE_BOUND = 2.0**25
"""Bound of sums with noise for differential privacy: no row contributes more than 1, and no noise comes near it. Words
of up to 512 sites then hold the noise's own unit."""
