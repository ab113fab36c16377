"""The folds of a site's training rows, by which models are compared."""

import numpy as np

from clients.site import Site
from flower_pansvm.arrays import Ints
from flower_pansvm.errors import TableError
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.systems.scaling import NO_FOLD


def folds_of(site: Site) -> Ints:
    """Return the fold of each training row, shape (rows,); `NO_FOLD` where the run has no folds.

    All rows of a patient are in one. A fold with fewer patients than the hospital's ``min-cluster`` is a TableError:
    sums with and without it would be about these few.
    """
    count = site.get_broadcast(SCHEMA).folds
    key = ("folds", site.digest_of(SCHEMA), site.least_patients)
    return site.cached(key, lambda: _fold_numbers(site, count))


def _fold_numbers(site: Site, folds: int) -> Ints:
    patients, least = site.train().patients, site.least_patients
    if folds == 0:
        return np.full(len(patients), NO_FOLD)
    numbers = np.unique(patients)
    fewest = int(np.bincount(numbers % folds, minlength=folds).min()) if folds <= len(numbers) else 0
    if fewest < least:
        raise TableError(
            f"Site '{site.name}' has too few patients for {folds} folds: it wants at least {least} in each, its "
            "min-cluster. Lower cv-folds, or min-cluster in the site's node config if the hospital agrees.",
            detail=f"Of {len(numbers)} patients to train on, a fold would have {fewest}.",
        )
    return patients % folds
