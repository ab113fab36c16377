"""The k-secure sum in one round trip, which two colluding neighbours do not break.

Each site shares a mask with k others, see :mod:`~flower_pansvm.secure_sum.mask_graph`. One of each pair adds it, the
other subtracts it. To learn one site's vector all its k partners must collude with the coordinator.
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

    Each site shares a mask with k others, or with all others of a shorter roster. For k = 0,
    :func:`~flower_pansvm.secure_sum.mask_graph.enough_partners` chooses k: all of 33 sites, 36 of 200.
    """

    name: ClassVar[str] = "k-secure"
    protected: ClassVar[bool] = True

    k: int = setting(
        0,
        whole(0),
        "Sites that each site shares masks with; of k-secure-hops parts of a vector, at least 2; 0: as many as needed.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k == 1:
            raise SettingError(
                "k is '1', but the k-secure sum needs at least 2. Leave k out for as many as needed."
            )

    def partners_of(self, sum_round: SumRound) -> int:
        """Return k, or the default for k = 0; at most the number of sites."""
        return min(self.k or enough_partners(len(sum_round.roster)), len(sum_round.roster))

    def isolating(self, sum_round: SumRound) -> int:
        """Return k, or all other sites: the graph of the masks, or of the segments, does not fall apart before."""
        return min(self.partners_of(sum_round), len(sum_round.roster) - 1)

    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return ``v_i + sum m(i, j) - sum m(h, i)`` over the partners j after i and h before i in the roster.

        Run by each site i; m(i, j) is the stream of words that i and j share in this sum.
        """
        sum_round.neighbours(member.name)
        masked = vector.copy()
        for partner in partners(sum_round, member.name, self.partners_of(sum_round)):
            giver, taker = sorted((member.name, partner), key=sum_round.roster.index)
            apply_mask(masked, sum_round, member, giver=giver, taker=taker)
        return to_bytes(masked), b""

    def total(self, payloads: Mapping[str, bytes], sum_round: SumRound, relay: Relay) -> Words:  # noqa: ARG002
        """Add up the masked vectors; run by the coordinator."""
        return add_all(payloads, sum_round)
