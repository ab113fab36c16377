"""The folds of a site's training rows, by which models are compared."""

from typing import cast

import numpy as np

from clients.site import Site
from flower_pansvm.arrays import Ints
from flower_pansvm.errors import TableError
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.systems.scaling import NO_FOLD


def folds_of(site: Site) -> Ints:
    """Return the fold of each training row, shape (rows,); `NO_FOLD` where the run has no folds.

    A fold with fewer rows than the hospital's ``min-cluster`` is a TableError: sums with and without it would be about
    these few patients.
    """
    count = site.get_broadcast(SCHEMA).folds
    return cast(
        Ints,
        site.cached(("folds", site.digest_of(SCHEMA), site.least_rows), lambda: _dealt(site, count)),
    )


def _dealt(site: Site, folds: int) -> Ints:
    places, least = site.split().places, site.least_rows
    if folds == 0:
        return np.full(len(places), NO_FOLD)
    numbers = places % folds if folds <= len(places) else np.empty(0, dtype=np.int64)
    fewest = int(np.bincount(numbers, minlength=folds).min()) if len(numbers) else 0
    if fewest < least:
        raise TableError(
            f"Site '{site.name}' has too few rows for {folds} folds: it wants at least {least} in each, its "
            "min-cluster. Lower cv-folds, or min-cluster in the site's node config if the hospital agrees.",
            detail=f"Of {len(places)} training rows, a fold would have {fewest}.",
        )
    return numbers
