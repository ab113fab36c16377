"""The k-secure sum in one round trip, which two colluding neighbours do not break.

Each site shares a mask with k others, see :mod:`~flower_pansvm.secure_sum.mask_graph`. One of each pair adds it, the
other takes it off. To learn one site's vector all its k partners must collude with the coordinator.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from flower_pansvm.constraints import setting, whole
from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum.contract import Member, Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.keys import apply_mask
from flower_pansvm.secure_sum.mask_graph import enough_partners, partners
from flower_pansvm.secure_sum.wire import add_all, to_bytes


@dataclass(frozen=True)
class KSecure(SecureSum):
    """The k-secure sum.

    k is how many others each site shares a mask with. All sites of the roster if there are no more; and if it is 0, as
    many as :func:`~flower_pansvm.secure_sum.mask_graph.enough_partners` says: all of 33 sites, 36 of 200.
    """

    name: ClassVar[str] = "k-secure"
    protected: ClassVar[bool] = True

    k: int = setting(
        0,
        whole(0),
        "Sites that each site shares masks with; of k-secure-hops parts of a vector, at least 2; 0 for enough.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k == 1:
            raise SettingError(
                "k is '1', but the k-secure sum needs at least 2. Leave k out for as many as needed."
            )

    def partners_of(self, this: SumRound) -> int:
        """Return k, or where it is 0 enough, and no more than there are sites."""
        return min(self.k or enough_partners(len(this.roster)), len(this.roster))

    def isolating(self, this: SumRound) -> int:
        """Return k, or all other sites: the graph of the masks, or of the segments, does not fall apart before."""
        return min(self.partners_of(this), len(this.roster) - 1)

    def contribute(self, vector: Words, this: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return ``v_i + sum m(i, j) - sum m(h, i)`` over the partners j after i and h before i in the roster.

        Run by each site i; m(i, j) is the stream of words that i and j share in this sum.
        """
        this.neighbours(member.name)
        masked = vector.copy()
        own_place = this.roster.index(member.name)
        for partner in partners(this, member.name, self.partners_of(this)):
            giver, taker = member.name, partner
            if this.roster.index(partner) < own_place:
                giver, taker = partner, member.name
            apply_mask(masked, this, member, giver=giver, taker=taker)
        return to_bytes(masked), b""

    def total(self, payloads: Mapping[str, bytes], this: SumRound, relay: Relay) -> Words:  # noqa: ARG002
        """Add up the masked vectors; run by the coordinator."""
        return add_all(payloads, this)
