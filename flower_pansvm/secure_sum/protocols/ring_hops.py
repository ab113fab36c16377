"""The ring secure sum as published: Clifton et al. (2002), SIGKDD Explorations 4(2), section 3.1.

The first site adds a random vector to its own and passes the result on, each site adds its own vector, and the first
subtracts the random vector. The coordinator relays messages that only the next site can read. To learn one site's
vector it is enough that both its neighbours collude.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from flower_pansvm.secure_sum.contract import Member, Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.keys import KEY_BYTES, add_keystream, seal, unseal
from flower_pansvm.secure_sum.step_state import load_step_state, save_step_state
from flower_pansvm.secure_sum.wire import check_roster, from_bytes, same_length, to_bytes

PURPOSE = "ring hop"


@dataclass(frozen=True)
class RingHops(SecureSum):
    """The ring secure sum from site to site."""

    name: ClassVar[str] = "ring-hops"
    protected: ClassVar[bool] = True

    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return the first site's masked vector, nothing of the others; run by each site."""
        _, after = sum_round.neighbours(member.name)
        if member.name != sum_round.roster[0]:
            return b"", save_step_state(sum_round, sum_round.roster.index(member.name), to_bytes(vector))
        masked, seed = vector.copy(), secrets.token_bytes(KEY_BYTES)
        add_keystream(masked, seed)
        sealed = seal(member, after, sum_round, PURPOSE, to_bytes(masked))
        return sealed, save_step_state(sum_round, len(sum_round.roster), seed)

    def respond(
        self, step: int, payload: bytes, state: bytes, sum_round: SumRound, member: Member
    ) -> tuple[bytes, bytes]:
        """Add the site's vector and seal for the next, or at the first site give the sum; run in ring order."""
        before, after = sum_round.neighbours(member.name)
        secret = load_step_state(state, sum_round, step, member.name)
        running = from_bytes(unseal(member, before, sum_round, PURPOSE, payload), before)
        if step == len(sum_round.roster):
            add_keystream(running, secret, subtract=True)
            return to_bytes(running), b""
        vector = from_bytes(secret, member.name)
        running = same_length(running, vector.size, before) + vector
        return seal(member, after, sum_round, PURPOSE, to_bytes(running)), b""

    def total(self, payloads: Mapping[str, bytes], sum_round: SumRound, relay: Relay) -> Words:
        """Pass the message once round the ring; run by the coordinator."""
        check_roster(payloads, sum_round)
        first = sum_round.roster[0]
        message = payloads[first]
        for step, site in enumerate((*sum_round.roster[1:], first), start=1):
            message = relay(step, {site: message})[site]
        return from_bytes(message, first)
