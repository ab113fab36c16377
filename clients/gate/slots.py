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

from clients.gate.membership import Participation
from clients.site import Site
from flower_pansvm.arrays import Ints
from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.keys import keystream, seal, unseal
from flower_pansvm.secure_sum.wire import join_fields, sum_context

SEED = "slots"  # purpose of the notes, and what a site calls the seed among its secrets

MOST_LANDMARKS = 100_000
"""More slots are refused: their matrix would only exhaust the site's memory, as a kernel matrix of that size does."""


def deal_seed(site: Site) -> None:
    """If this site is the first of the roster, write the seed to each other site, drawn now if there is none yet."""
    participation = site.participation
    if participation is None or participation.this.roster[0] != site.name:
        return
    seed = cast(bytes, site.first(SEED, secrets.token_bytes(32)))
    for name in participation.this.roster[1:]:
        site.outbox[name] = seal(participation.member, name, _label(participation), SEED, seed)


def take_seed(site: Site, participation: Participation, notes: Mapping[str, bytes]) -> None:
    """Keep the seed that the first site has written, with whichever task the note comes; refuse a second one."""
    refusal = "a second seed for landmark slots: by two of them, landmarks could be told apart by their site"
    for sender, note in notes.items():
        seed = unseal(participation.member, sender, _label(participation), SEED, note)
        site.settle(SEED, seed, refusal)


def _label(participation: Participation) -> SumRound:
    """Return the label of notes that are valid for the whole run: they may be read in a later round trip.

    And with fewer sites; so it holds the settings and all sites' keys, but no roster.
    """
    this, settings = participation.this, participation.terms.digest
    return SumRound(this.run, f"{SEED} {settings}", 0, 0, roster=(), keys=this.keys)


def own_slots(site: Site, slots_per_site: int) -> tuple[Ints, int]:
    """Return the rows of the landmark matrix that are this site's, and how many rows it has."""
    participation = site.participation
    assert participation is not None  # landmarks are summed
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
