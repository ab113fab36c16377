"""Secret seeds that some sites share: one site sends them, in notes that the coordinator relays and cannot read."""

from collections.abc import Mapping, Sequence
from typing import cast

from clients.membership import Participation
from clients.site import Site
from flower_pansvm.errors import NOT_FOLLOWED, FederationError
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.keys import KEY_BYTES, SEAL_BYTES, seal, unseal

SLOTS, COLUMN_BLOCK = "slots", "column-block"
SECOND_REFUSED = {
    SLOTS: "a second seed for landmark slots: by two of them, landmarks could be assigned to their sites",
    COLUMN_BLOCK: "a second random matrix: by two of them, its rows could be computed from kernel rows",
}
"""A seed's purpose, also its name among a site's secrets, and the reason why a run has only one."""

PURPOSES = tuple(SECOND_REFUSED)
NOTE_BYTES = 1 + KEY_BYTES + SEAL_BYTES  # a note begins with the place of its purpose


def distribute_seed(site: Site, purpose: str, seed: bytes, names: Sequence[str]) -> None:
    """Write a seed to the other named sites, if this one is the first of them; a run's first seed counts."""
    participation = site.participation
    if participation is None or names[0] != site.name:
        return
    seed = cast(bytes, site.remember_once(purpose, seed))
    for name in names[1:]:
        note = seal(participation.member, name, _label(site, participation.sum_round, purpose), purpose, seed)
        site.outbox[name] = site.outbox.get(name, b"") + bytes([PURPOSES.index(purpose)]) + note


def receive_seeds(site: Site, participation: Participation, notes: Mapping[str, bytes]) -> None:
    """Keep the seeds in other sites' notes, which come with any task; a second one is a FederationError."""
    for sender, note in notes.items():
        for start in range(0, len(note), NOTE_BYTES):
            index, sealed = note[start], note[start + 1 : start + NOTE_BYTES]
            purpose = PURPOSES[min(index, len(PURPOSES) - 1)]  # sealed for another purpose, it does not open
            seed = unseal(
                participation.member, sender, _label(site, participation.sum_round, purpose), purpose, sealed
            )
            if purpose == COLUMN_BLOCK and not _has_the_same_columns(site, sender):
                raise FederationError(
                    f"Site '{site.name}' refuses a random matrix from site '{sender}', which has other columns and may "
                    f"not know it. {NOT_FOLLOWED}"
                )
            site.require_same(purpose, seed, SECOND_REFUSED[purpose])


def _has_the_same_columns(site: Site, sender: str) -> bool:
    from clients.column_blocks import column_block  # noqa: PLC0415 - few runs have a layout

    return sender in column_block(site.layout(), site.name)


def _label(site: Site, sum_round: SumRound, purpose: str) -> SumRound:
    """Return the label of notes that are valid for the whole run: they may be read in a later round trip.

    And with fewer sites; so it holds the settings and all sites' keys, but no roster.
    """
    return SumRound(sum_round.run, f"{purpose} {site.terms.digest}", 0, 0, roster=(), keys=sum_round.keys)
