"""The k-secure sum as published: Sheikh, Kumar and Mishra (2010), Journal of Computing 2, a distributed k-secure sum.

Each site splits its vector into k random segments and hands k - 1 of them to other sites; then the sum goes
round k times, each time in another order. In two things this is stricter than the paper. Segments are
uniform modulo 2**64. And what a site holds after the handing out is split anew, at random, over the k
passes: if a site added the segments themselves, two neighbours could read off, pass by pass, the very
segments whose sum is the vector. As it is they learn at most the sum of what a site holds, to which all
the givers' segments add.
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
from flower_pansvm.secure_sum.wire import everyone, from_bytes, same_length, to_bytes

SEGMENT = "segment"
NOTE_BYTES = KEY_BYTES + SEAL_BYTES
HAND_OUT = 1  # the relay step that delivers the segments; the first pass begins with its answer


@dataclass(frozen=True)
class KSecureHops(KSecure):
    """The k-secure sum from site to site: a vector is split into k segments, and the sum goes round k times."""

    name: ClassVar[str] = "k-secure-hops"

    def contribute(self, vector: Words, this: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return the sealed segments for other sites, each as the seed of its stream; run by each site.

        The site keeps what is left of the vector.
        """
        this.neighbours(member.name)
        rest, notes = vector.copy(), []
        for receiver in receivers(this, member.name, self.partners_of(this) - 1):
            seed = secrets.token_bytes(KEY_BYTES)
            add_keystream(rest, seed, subtract=True)
            notes.append(seal(member, receiver, this, SEGMENT, seed))
        return b"".join(notes), save_step_state(this, HAND_OUT, to_bytes(rest))

    def respond(
        self, step: int, payload: bytes, kept: bytes, this: SumRound, member: Member
    ) -> tuple[bytes, bytes]:
        """Take in the segments, or take part in a pass; run by each site, k + 1 times in all."""
        rest = from_bytes(load_step_state(kept, this, step, member.name), member.name)
        path = self._path(this)
        if step == HAND_OUT:
            # The segments that other sites handed to this one.
            for place, giver in enumerate(givers(this, member.name, self.partners_of(this) - 1)):
                note = payload[place * NOTE_BYTES : (place + 1) * NOTE_BYTES]
                add_keystream(rest, unseal(member, giver, this, SEGMENT, note))
            if member.name != path[0]:
                return b"", save_step_state(this, path.index(member.name) + 1, to_bytes(rest))
            running = np.zeros_like(rest)
        else:
            before = path[step - 2]
            running = from_bytes(unseal(member, before, this, f"step {step}", payload), before)
            same_length(running, rest.size, before)
        return self._pass_on(step, running, rest, this, member)

    def total(self, payloads: Mapping[str, bytes], this: SumRound, relay: Relay) -> Words:
        """Deliver the segments and relay k passes; run by the coordinator."""
        everyone(payloads, this)
        path = self._path(this)
        message = relay(HAND_OUT, self._sorted_by_receiver(payloads, this))[path[0]]
        for step, site in enumerate(path[1:], start=HAND_OUT + 1):
            message = relay(step, {site: message})[site]
        return from_bytes(message, path[-1])

    def _path(self, this: SumRound) -> list[str]:
        """Return who adds in turn: in every pass the first of the roster, then the others in a new order."""
        first = this.roster[0]
        path = []
        for number in range(self.partners_of(this)):
            path += [first, *(name for name in public_order(this, f"pass {number}") if name != first)]
        return path

    def _sorted_by_receiver(self, payloads: Mapping[str, bytes], this: SumRound) -> dict[str, bytes]:
        handed_out = self.partners_of(this) - 1
        for name, payload in payloads.items():
            if len(payload) != handed_out * NOTE_BYTES:
                raise SumError(
                    f"Site {name!r} did not hand out {handed_out} segments. "
                    "The message was cut short or changed on its way; repeat the sum."
                )
        return {
            name: b"".join(
                payloads[giver][place * NOTE_BYTES : (place + 1) * NOTE_BYTES]
                for place, giver in enumerate(givers(this, name, handed_out))
            )
            for name in this.roster
        }

    def _pass_on(
        self, step: int, running: Words, rest: Words, this: SumRound, member: Member
    ) -> tuple[bytes, bytes]:
        """Move a random part of ``rest`` to the running sum, in the last pass all of it, and send that on."""
        path = self._path(this)
        kept = b""
        if member.name in path[step:]:
            seed = secrets.token_bytes(KEY_BYTES)
            add_keystream(running, seed)
            add_keystream(rest, seed, subtract=True)
            kept = save_step_state(this, path.index(member.name, step) + 1, to_bytes(rest))
        else:
            running += rest
        if step == len(path):
            return to_bytes(running), kept
        return seal(member, path[step], this, f"step {step + 1}", to_bytes(running)), kept
