"""Which slots of the matrix of landmarks are a site's: all sites know it, and the coordinator does not.

They deal out the slots by the same secret seed, which the first site draws (:mod:`clients.gate.seeds`). A run has one
seed, and each sum is dealt anew from it: two sums whose slots were related, such as one with more slots for each site,
would tell which landmarks are of the same site.
"""

import hmac
from typing import cast

import numpy as np

from clients.gate.seeds import SLOTS
from clients.site import Site
from flower_pansvm.arrays import Ints
from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.keys import keystream
from flower_pansvm.secure_sum.wire import join_fields, sum_context

MOST_LANDMARKS = 100_000
"""More slots are refused: their matrix would only exhaust the site's memory, as a kernel matrix of that size does."""


def own_slots(site: Site, slots_per_site: int, most: int) -> tuple[Ints, int]:
    """Return the rows of the landmark matrix that are this site's, and how many rows it has: ``most`` or fewer.

    Where that is less than a row for each site, the seed says whose turn it is, and the others have none.
    """
    participation = site.participation
    assert participation is not None  # landmarks are summed
    sites = len(participation.this.roster)
    total = min(slots_per_site * sites, most)
    if not 1 <= total <= MOST_LANDMARKS:
        raise SettingError(
            f"Site '{site.name}' was asked to fill {slots_per_site} landmark slots, and takes at most "
            f"{MOST_LANDMARKS} over all sites. Ask for fewer landmarks."
        )
    seed = cast(bytes, site.kept(SLOTS))
    key = hmac.digest(seed, join_fields(tags.SLOTS, sum_context(participation.this)), "sha256")
    place = participation.this.roster.index(site.name)
    if total < sites:
        turn = np.flatnonzero(np.argsort(keystream(key, sites), kind="stable") == place)
        return turn[turn < total], total
    order = np.argsort(keystream(key, total), kind="stable")
    return order[place * slots_per_site : (place + 1) * slots_per_site], total
