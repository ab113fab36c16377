"""No protection at all: every site sends its vector as it is. For baselines and for finding errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from flower_pansvm.secure_sum.contract import Member, Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.wire import add_all, to_bytes


@dataclass(frozen=True)
class Plain(SecureSum):
    """The sum without any protection; the coordinator sees every site's vector."""

    name: ClassVar[str] = "plain"
    protected: ClassVar[bool] = False

    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return the vector itself; run by each site."""
        sum_round.neighbours(member.name)
        return to_bytes(vector), b""

    def total(self, payloads: Mapping[str, bytes], sum_round: SumRound, relay: Relay) -> Words:  # noqa: ARG002
        """Add up the vectors; run by the coordinator."""
        return add_all(payloads, sum_round)
