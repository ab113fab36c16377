"""Which slots of the matrix of landmarks are a site's: all sites know it, and the coordinator does not.

They deal out the slots by the same secret seed. The first site draws it and writes it to each other site in a note that
the coordinator hands on and cannot read. A run has one seed, and each sum is dealt anew from it: two sums whose slots
were related, such as one with more slots for each site, would tell which landmarks are of the same site.
"""

import hmac
import secrets
from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from clients.gate.membership import Participation, note_from, note_to
from clients.site import Site
from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.keys import keystream
from flower_pansvm.secure_sum.wire import join_fields, sum_context

SEED = "slots"  # purpose of the notes, and what a site calls the seed among its secrets

MOST_LANDMARKS = 100_000
"""More slots are refused: their matrix would only exhaust the site's memory, as a kernel matrix of that size does."""


def deal_seed(site: Site) -> None:
    """If this site is the first of the roster, write the seed to each other site, drawn now if there is none yet."""
    if site.participation is None or site.participation.this.roster[0] != site.name:
        return
    seed = cast(bytes, site.first(SEED, secrets.token_bytes(32)))
    for name in site.participation.this.roster[1:]:
        site.outbox[name] = note_to(site.participation, name, SEED, seed)


def take_seed(site: Site, participation: Participation, notes: Mapping[str, bytes]) -> None:
    """Keep the seed that the first site has written, with whichever task the note comes; refuse a second one."""
    refusal = "a second seed for landmark slots: by two of them, landmarks could be told apart by their site"
    for sender, note in notes.items():
        site.settle(SEED, note_from(participation, sender, SEED, note), refusal)


def own_slots(site: Site, slots_per_site: int) -> tuple[NDArray[np.int64], int]:
    """Return the rows of the landmark matrix that are this site's, and how many rows it has."""
    participation = site.participation
    if participation is None:
        raise FederationError("Landmarks were asked for outside a secure sum. Start the run again.")
    total = slots_per_site * len(participation.this.roster)
    if not 1 <= total <= MOST_LANDMARKS:
        raise SettingError(
            f"Site '{site.name}' was asked to fill {slots_per_site} landmark slots, and takes at most "
            f"{MOST_LANDMARKS} over all sites. Ask for fewer landmarks."
        )
    seed = cast(bytes, site.kept(SEED))
    key = hmac.digest(seed, join_fields(tags.SLOTS, sum_context(participation.this)), "sha256")
    order = np.argsort(keystream(key, total), kind="stable")
    place = participation.this.roster.index(site.name)
    return order[place * slots_per_site : (place + 1) * slots_per_site], total
