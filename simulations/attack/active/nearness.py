"""What an attack on records has got, where a level promises how near it comes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.terms import Scalar
from simulations.attack.active.registry import Attempt
from simulations.attack.copies import SiteRecords
from simulations.attack.counting import counted

PROMISE = "perturbed: nothing that leaves is nearer to a record than its copy, whatever is asked."
NOISE = 0.25
NEAREST = 0.8
"""Guesses of measurements are off by so much of the noise at least; the mean of two draws is off by .71 of it.

Ends and a linear filter take off .04 of it. With the cells of 36 records, chance takes off another .15 less than once
in 10,000 times.
"""
AS_NEAR = 0.95
"""And by so much of what the copies of the same records are off: chance makes both nearer alike."""


def asked_at(level: str) -> Mapping[str, Scalar]:
    """Return settings of a run at a level, with the least noise."""
    return {"strategy": "pan-svm", "privacy": level, "noise": NOISE}


def attempt(level: str, sites: list[SiteRecords], guesses: Floats, why: str = "") -> Attempt:
    """Return how near guesses come to records.

    Parameters
    ----------
    level : str
        Of the run.
    sites : list of SiteRecords
        The truth; the attack is on those that count as trained.
    guesses : ndarray of shape (guesses, columns)
        In the table's units.
    why : str
        What the hospitals refused.
    """
    found = counted(level, sites, {"all": guesses}, [])
    count = found.attempts["all"].within_10
    if found.copy is None:
        got = f"{count} of {found.rows} records{why}"
        return Attempt(got, "any: level exact promises nothing", count == 0)
    nearest = min(found.copy.filtered_distance, found.found_distance or np.inf)
    held = nearest >= NEAREST * found.copy.noise
    off = ""
    if found.found_distance is not None and found.found_copy_distance is not None:
        off = f", {found.found_distance:.2f} deviations from the records"
        held &= found.found_distance >= AS_NEAR * found.found_copy_distance
    filtered = f"; with a linear filter over the whole copy {found.copy.filtered_distance:.2f}"
    allowed = f"at least {NEAREST * found.copy.noise:.2f} deviations away, and no nearer than the copies"
    return Attempt(f"copies of {count} of {found.rows} records{off}{filtered}{why}", allowed, held)


def all_trained(sites: Sequence[SiteRecords]) -> list[SiteRecords]:
    """Return sites all of whose records count as attacked, whether they are for training or for the test."""
    return [replace(one, trained=np.ones(len(one.true), dtype=np.bool_)) for one in sites]
