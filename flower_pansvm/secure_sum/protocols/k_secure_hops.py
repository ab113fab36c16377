"""The k-secure sum as published: Sheikh, Kumar and Mishra (2010), Journal of Computing 2, a distributed k-secure sum.

Each site splits its vector into k random segments and hands k - 1 of them to other sites; then the sum goes
round k times, each time in another order. Two things are stricter than in the paper. Segments are uniform modulo
2**64. And each site splits its remainder, after the handing out, anew and at random over the k passes: if a site
added the segments themselves, two neighbours could read off, pass by pass, the very segments whose sum is the
vector. They learn at most the sum of the site's remainder, which contains all the givers' segments.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import Member, Relay, SumRound, Words
from flower_pansvm.secure_sum.keys import KEY_BYTES, SEAL_BYTES, add_keystream, seal, unseal
from flower_pansvm.secure_sum.mask_graph import givers, public_order, receivers
from flower_pansvm.secure_sum.protocols.k_secure import KSecure
from flower_pansvm.secure_sum.step_state import load_step_state, save_step_state
from flower_pansvm.secure_sum.wire import check_roster, from_bytes, same_length, to_bytes

SEGMENT = "segment"
NOTE_BYTES = KEY_BYTES + SEAL_BYTES
HAND_OUT = 1  # the relay step that delivers the segments; the first pass begins with its answer


@dataclass(frozen=True)
class KSecureHops(KSecure):
    """The k-secure sum from site to site: a vector is split into k segments, and the sum goes round k times."""

    name: ClassVar[str] = "k-secure-hops"

    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return the sealed segments for other sites, each as the seed of its stream; run by each site.

        The site keeps the remainder of the vector.
        """
        sum_round.neighbours(member.name)
        remainder, notes = vector.copy(), []
        for receiver in receivers(sum_round, member.name, self.partners_of(sum_round) - 1):
            seed = secrets.token_bytes(KEY_BYTES)
            add_keystream(remainder, seed, subtract=True)
            notes.append(seal(member, receiver, sum_round, SEGMENT, seed))
        return b"".join(notes), save_step_state(sum_round, HAND_OUT, to_bytes(remainder))

    def respond(
        self, step: int, payload: bytes, state: bytes, sum_round: SumRound, member: Member
    ) -> tuple[bytes, bytes]:
        """Take in the segments from other sites, or take part in a pass; run by each site, k + 1 times in all."""
        remainder = from_bytes(load_step_state(state, sum_round, step, member.name), member.name)
        path = self._path(sum_round)
        if step == HAND_OUT:
            for index, giver in enumerate(givers(sum_round, member.name, self.partners_of(sum_round) - 1)):
                note = payload[index * NOTE_BYTES : (index + 1) * NOTE_BYTES]
                add_keystream(remainder, unseal(member, giver, sum_round, SEGMENT, note))
            if member.name != path[0]:
                return b"", save_step_state(sum_round, path.index(member.name) + 1, to_bytes(remainder))
            running = np.zeros_like(remainder)
        else:
            before = path[step - 2]
            running = from_bytes(unseal(member, before, sum_round, f"step {step}", payload), before)
            same_length(running, remainder.size, before)
        return self._pass_on(step, running, remainder, sum_round, member)

    def total(self, payloads: Mapping[str, bytes], sum_round: SumRound, relay: Relay) -> Words:
        """Deliver the segments and relay k passes; run by the coordinator."""
        check_roster(payloads, sum_round)
        path = self._path(sum_round)
        message = relay(HAND_OUT, self._sorted_by_receiver(payloads, sum_round))[path[0]]
        for step, site in enumerate(path[1:], start=HAND_OUT + 1):
            message = relay(step, {site: message})[site]
        return from_bytes(message, path[-1])

    def _path(self, sum_round: SumRound) -> list[str]:
        """Return the order of adding: in every pass the first of the roster, then the others in a new order."""
        first = sum_round.roster[0]
        path = []
        for index in range(self.partners_of(sum_round)):
            order = public_order(sum_round, f"pass {index}")
            path += [first, *(name for name in order if name != first)]
        return path

    def _sorted_by_receiver(self, payloads: Mapping[str, bytes], sum_round: SumRound) -> dict[str, bytes]:
        handed_out = self.partners_of(sum_round) - 1
        for name, payload in payloads.items():
            if len(payload) != handed_out * NOTE_BYTES:
                raise SumError(
                    f"Site {name!r} did not hand out {handed_out} segments. "
                    "The message was cut short or changed on its way; repeat the sum."
                )
        return {
            name: b"".join(
                payloads[giver][index * NOTE_BYTES : (index + 1) * NOTE_BYTES]
                for index, giver in enumerate(givers(sum_round, name, handed_out))
            )
            for name in sum_round.roster
        }

    def _pass_on(
        self, step: int, running: Words, remainder: Words, sum_round: SumRound, member: Member
    ) -> tuple[bytes, bytes]:
        """Move a random part of the remainder to the running sum, in the last pass all of it, and send that on."""
        path = self._path(sum_round)
        state = b""
        if member.name in path[step:]:
            seed = secrets.token_bytes(KEY_BYTES)
            add_keystream(running, seed)
            add_keystream(remainder, seed, subtract=True)
            state = save_step_state(sum_round, path.index(member.name, step) + 1, to_bytes(remainder))
        else:
            running += remainder
        if step == len(path):
            return to_bytes(running), state
        return seal(member, path[step], sum_round, f"step {step + 1}", to_bytes(running)), state
