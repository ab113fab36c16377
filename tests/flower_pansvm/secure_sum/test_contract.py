"""Every protocol that can be chosen by name keeps the contract, and a protocol that breaks it is noticed."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.secure_sum.contract import Member, Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.protocols.ring import Ring
from flower_pansvm.secure_sum.protocols.ring_hops import RingHops
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.secure_sum.rehearsal import Rehearsal, gather_members
from flower_pansvm.secure_sum.testing import CHECKS, check_protocol, variants
from flower_pansvm.secure_sum.unprotected.plain import Plain
from flower_pansvm.secure_sum.wire import add_all, check_roster, from_bytes, to_bytes

VARIANTS = [protocol for name in PROTOCOLS for protocol in variants(PROTOCOLS[name])]


def described(protocol: SecureSum) -> str:
    return " ".join([protocol.name, *(f"{name}={value}" for name, value in vars(protocol).items())])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("protocol", VARIANTS, ids=described)
def test_every_protocol_keeps_the_contract(protocol: SecureSum, check: Callable[[SecureSum], None]) -> None:
    check(protocol)


STEPS = {"plain": 0, "ring": 0, "ring-hops": 5, "k-secure": 0, "paillier": 1, "double-mask": 5}
"""Relay steps of a sum over five sites: none but in hops and at the key holder."""


@pytest.mark.parametrize("protocol", VARIANTS, ids=described)
def test_one_round_trip_where_it_is_promised_and_as_many_relay_steps_as_published_in_hops(
    protocol: SecureSum,
) -> None:
    sum_round = SumRound("run", "task", 1, 0, ("a", "b", "c", "d", "e"))
    rehearsal = Rehearsal(protocol, gather_members(protocol, sum_round.roster))
    rehearsal.run({site: np.zeros(2, np.uint64) for site in sum_round.roster}, sum_round)
    k = vars(protocol).get("k") or len(sum_round.roster)
    assert len(rehearsal.relayed) == STEPS.get(protocol.name, 5 + k * 5 - 1)


class Vain(Plain):
    """Says that it protects and does not."""

    protected = True


class Lossy(Plain):
    """Forgets the last site."""

    def total(self, payloads: Mapping[str, bytes], sum_round: SumRound, relay: Relay) -> Words:
        check_roster(payloads, sum_round)
        total = add_all(payloads, sum_round)
        return total - from_bytes(payloads[sum_round.roster[-1]], "the last")


class Trusting(Plain):
    """Adds up whatever has come."""

    def total(self, payloads: Mapping[str, bytes], sum_round: SumRound, relay: Relay) -> Words:
        vectors = [from_bytes(payload, name) for name, payload in payloads.items() if payload]
        return sum(vectors[1:], vectors[0]) if vectors else from_bytes(b"", "nobody")


class Open(Plain):
    """Answers to any site."""

    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        return to_bytes(vector), b""


class Spoiling(Plain):
    """Changes the site's own vector."""

    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        sent = super().contribute(vector, sum_round, member)
        vector += 1
        return sent


class Obliging(RingHops):
    """Does a step again for whoever asks."""

    def respond(
        self, step: int, payload: bytes, state: bytes, sum_round: SumRound, member: Member
    ) -> tuple[bytes, bytes]:
        return super().respond(step, payload, state, sum_round, member)[0], state


class Repeating(Ring):
    """Uses the masks of the first attempt for every attempt."""

    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        first = SumRound(
            sum_round.run, sum_round.task, sum_round.round_trip, 0, sum_round.roster, sum_round.keys
        )
        return super().contribute(vector, first, member)


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (Vain(), "a vector shows"),
        (Lossy(), "over 2 sites, 5 words is wrong"),
        (Trusting(), "not refused"),
        (Open(), "not refused"),
        (Spoiling(), "copy it first"),
        (Obliging(), "not refused"),
        (Repeating(), "under the same masks"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_protocol_that_breaks_the_contract_is_noticed(broken: SecureSum, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_protocol(broken)


# Options and rounds of a sum that cannot be


@pytest.mark.parametrize("k", [1, -3, 2.5])
def test_too_small_a_k_is_an_error(k: int) -> None:
    with pytest.raises(SettingError, match=f"k is '{k}'"):
        PROTOCOLS["k-secure"](k=k)


@pytest.mark.parametrize(("round_trip", "attempt", "roster"), [(-1, 0, "ab"), (1, -1, "ab"), (1, 0, "aba")])
def test_a_broken_round_is_refused(round_trip: int, attempt: int, roster: str) -> None:
    with pytest.raises(SumError):
        SumRound("run", "task", round_trip, attempt, tuple(roster))


def test_words_are_the_same_bytes_on_any_machine() -> None:
    words = np.array([1, 2**63], dtype=np.uint64)
    assert to_bytes(words) == to_bytes(words.astype(">u8")) == b"\x01" + bytes(7 + 7) + b"\x80"
