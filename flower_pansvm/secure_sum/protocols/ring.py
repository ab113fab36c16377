"""The ring secure sum in one round trip.

Each site shares one mask with the next in the ring, adds the one it shares with its successor and subtracts the one it
shares with its predecessor. All masks cancel in the sum. To learn one site's vector both its neighbours must collude
*and* have its message to the coordinator.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from flower_pansvm.secure_sum.contract import Member, Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.keys import apply_mask
from flower_pansvm.secure_sum.wire import add_all, to_bytes


@dataclass(frozen=True)
class Ring(SecureSum):
    """The ring secure sum."""

    name: ClassVar[str] = "ring"
    protected: ClassVar[bool] = True

    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return ``v_i + m(i, i+1) - m(i-1, i)``; run by each site."""
        before, after = sum_round.neighbours(member.name)
        masked = vector.copy()
        apply_mask(masked, sum_round, member, giver=member.name, taker=after)
        apply_mask(masked, sum_round, member, giver=before, taker=member.name)
        return to_bytes(masked), b""

    def total(self, payloads: Mapping[str, bytes], sum_round: SumRound, relay: Relay) -> Words:  # noqa: ARG002
        """Add up the masked vectors; run by the coordinator."""
        return add_all(payloads, sum_round)
