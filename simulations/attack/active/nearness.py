"""The outcome of an attack on records, whose distance from guesses a level promises."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.terms import Scalar
from simulations.attack.active.registry import Attempt
from simulations.attack.copies import SiteRecords
from simulations.attack.counting import counted

NOISE = 0.25
NEAREST = 0.8
"""Least error of guesses of measurements, as a share of the noise; the mean of two draws has .71.

Bounds and a linear filter remove .04. With the cells of 36 records, chance removes another .15 with probability below
1 in 10,000.
"""
AS_NEAR = 0.95
"""Least error of guesses, as a share of that of the same records' copies: chance moves both alike."""


def asked_at(level: str) -> Mapping[str, Scalar]:
    """Return settings of a run at a level, with the least noise."""
    return {"strategy": "pan-svm", "privacy": level, "noise": NOISE}


def attempt(level: str, sites: list[SiteRecords], guesses: Floats, why: str = "") -> Attempt:
    """Return the outcome of an attack with guesses of records.

    Parameters
    ----------
    level : str
        Privacy level of the run.
    sites : list of SiteRecords
        The truth; the attack is on training records.
    guesses : ndarray of shape (guesses, columns)
        In the table's units.
    why : str
        The hospitals' refusal, if any.
    """
    result = counted(level, sites, {"all": guesses}, [])
    count = result.attempts["all"].within_10
    if result.copy is None:
        got = f"{count} of {result.rows} records{why}"
        return Attempt(got, "any: level exact promises nothing", count == 0)
    nearest = min(result.copy.filtered_distance, result.found_distance or np.inf)
    held = nearest >= NEAREST * result.copy.noise
    off = ""
    if result.found_distance is not None and result.found_copy_distance is not None:
        off = f", {result.found_distance:.2f} deviations from the records"
        held &= result.found_distance >= AS_NEAR * result.found_copy_distance
    filtered = f"; with a linear filter over the whole copy {result.copy.filtered_distance:.2f}"
    allowed = f"at least {NEAREST * result.copy.noise:.2f} deviations away, and no nearer than the copies"
    return Attempt(f"copies of {count} of {result.rows} records{off}{filtered}{why}", allowed, held)


def all_trained(sites: Sequence[SiteRecords]) -> list[SiteRecords]:
    """Return the sites with all records marked as training records, test records too."""
    return [replace(site, trained=np.ones(len(site.true), dtype=np.bool_)) for site in sites]
