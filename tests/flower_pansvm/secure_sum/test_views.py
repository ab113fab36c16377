"""What the coordinator sees, alone and together with colluding sites: the collusion table, shown.

The coordinator's view of a masked protocol is all that passes through it; colluding sites add their keys.
What a protocol does not protect against is shown here as well.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound, Words
from flower_pansvm.secure_sum.keys import SEAL_BYTES, add_keystream, apply_mask, pair_key, sum_key, unseal
from flower_pansvm.secure_sum.mask_graph import partners, receivers
from flower_pansvm.secure_sum.protocols.k_secure_hops import NOTE_BYTES
from flower_pansvm.secure_sum.protocols.paillier import split_fields
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.secure_sum.rehearsal import Rehearsal, gather_members
from flower_pansvm.secure_sum.shamir import SHARE_BYTES, combine
from flower_pansvm.secure_sum.step_state import save_step_state
from flower_pansvm.secure_sum.wire import from_bytes

ROSTER = ("a", "b", "c", "d", "e")
WORDS = 4000
VECTORS: dict[str, Words] = {name: np.full(WORDS, number, np.uint64) for number, name in enumerate(ROSTER)}
DOUBLE: list[tuple[str, dict[str, Any]]] = [("double-mask", {}), ("double-mask", {"share_threshold": "half"})]
ONE_SHOT: list[tuple[str, dict[str, Any]]] = [("ring", {}), ("k-secure", {}), ("k-secure", {"k": 2})]
HOPS: list[tuple[str, dict[str, Any]]] = [
    ("ring-hops", {}),
    ("k-secure-hops", {}),
    ("k-secure-hops", {"k": 2}),
]


def a_round(round_trip: int = 1, attempt: int = 0, roster: tuple[str, ...] = ROSTER) -> SumRound:
    return SumRound(run="r", task="t", round_trip=round_trip, attempt=attempt, roster=roster)


def byte_counts(data: bytes) -> Any:
    return np.bincount(np.frombuffer(data, np.uint8), minlength=256)


FALSE_ALARM = 1e-9
"""Probability that a test of truly uniform bytes fails; there are a hundred of such tests."""


def looks_uniform(words: Words) -> bool:
    return bool(chisquare(byte_counts(words.astype("<u8").tobytes())).pvalue > FALSE_ALARM)


class Watched(Rehearsal):
    """A rehearsal that also looks at what the sites keep after each step, which nobody could in a real run."""

    def give(self, vectors: Any, sum_round: SumRound) -> None:
        self.held: dict[tuple[int, str], bytes] = {}
        super().give(vectors, sum_round)

    def answer(self, step: int, name: str, payload: bytes, sum_round: SumRound) -> bytes:
        answer = super().answer(step, name, payload, sum_round)
        self.held[step, name] = self.kept[name]
        return answer


def rehearse(name: str, options: dict[str, Any], roster: tuple[str, ...] = ROSTER) -> Watched:
    protocol = PROTOCOLS[name](**options)
    return Watched(protocol, gather_members(protocol, roster))


def sent(rehearsal: Rehearsal, sum_round: SumRound) -> dict[str, Words]:
    rehearsal.run(VECTORS, sum_round)
    return {name: from_bytes(payload, name) for name, payload in rehearsal.first.items()}


def without_masks_of(
    colluding: Iterable[str], victim: str, masked: Words, rehearsal: Rehearsal, pairs: list[tuple[str, str]]
) -> Words:
    """Take off ``masked`` every mask that the colluding sites can compute, among the (giver, taker) pairs."""
    residual = masked.copy()
    for giver, taker in pairs:
        [other] = {giver, taker} - {victim}
        if other in colluding:
            apply_mask(residual, a_round(), rehearsal.members[other], giver, taker)
    return residual


# What the sites notice


@pytest.mark.parametrize(("name", "options"), [*HOPS, *DOUBLE], ids=str)
@pytest.mark.parametrize("attack", ["flip", "cut", "empty", "swap", "earlier"])
def test_a_relayed_note_that_is_not_the_right_one_is_refused(
    name: str, options: dict[str, Any], attack: str
) -> None:
    rehearsal = rehearse(name, options)
    rehearsal.run(VECTORS, a_round(1))
    earlier = {(step, site): payload for step, site, payload, _ in rehearsal.relayed}
    rehearsal.run(VECTORS, a_round(2))
    payloads = {(step, site): payload for step, site, payload, _ in rehearsal.relayed}
    held, contribute = rehearsal.held, rehearsal.protocol.contribute
    for (step, site), payload in payloads.items():
        mine = [key for key in payloads if key[1] == site and key[0] < step]
        # What it could have kept from its first message: what it holds does not matter here.
        kept = held[mine[-1]] if mine else contribute(VECTORS[site], a_round(2), rehearsal.members[site])[1]
        broken = {
            "flip": payload[:30] + bytes([payload[30] ^ 1]) + payload[31:],
            "cut": payload[:-1],
            "empty": b"",
            "swap": next(other for key, other in payloads.items() if key != (step, site)),
            "earlier": next(
                other for key, other in earlier.items() if key[1] == site and (key[0] == 1) == (step == 1)
            ),
        }[attack]
        with pytest.raises(SumError):
            rehearsal.protocol.respond(step, broken, kept, a_round(2), rehearsal.members[site])
        rehearsal.protocol.respond(step, payload, kept, a_round(2), rehearsal.members[site])


# What the coordinator sees


@pytest.mark.parametrize(("name", "options"), ONE_SHOT, ids=str)
def test_one_shot_vectors_are_uniform_and_unrelated(name: str, options: dict[str, Any]) -> None:
    rehearsal = rehearse(name, options)
    once = sent(rehearsal, a_round(1))
    again = sent(rehearsal, a_round(1, attempt=1))
    later = sent(rehearsal, a_round(2))
    for site in ROSTER:
        assert looks_uniform(once[site])
        assert looks_uniform(once[site] - again[site])
        assert looks_uniform(once[site] - later[site])
        assert looks_uniform(once[site] - once["a" if site != "a" else "b"])


@pytest.mark.parametrize(("name", "options"), HOPS, ids=str)
def test_hops_are_uniform_but_for_the_final_sum(name: str, options: dict[str, Any]) -> None:
    rehearsal = rehearse(name, options)
    rehearsal.run(VECTORS, a_round())
    *hops, (_, _, _, final) = rehearsal.relayed
    seen = b"".join(rehearsal.first.values()) + b"".join(answer for _, _, _, answer in hops)
    assert chisquare(byte_counts(seen)).pvalue > FALSE_ALARM
    assert from_bytes(final, "last").tolist() == [sum(range(5))] * WORDS


def test_paillier_ciphertexts_are_uniform() -> None:
    rehearsal = rehearse("paillier", {"key_bits": 2048}, ("a", "b", "c"))
    rehearsal.run({name: np.zeros(1200, np.uint64) for name in "abc"}, a_round(roster=("a", "b", "c")))
    # The highest byte of a number below n**2 is not uniform, so it is left out.
    numbers = b"".join(split_fields(payload, 2, "x")[1] for payload in rehearsal.first.values())
    lower = np.frombuffer(numbers, np.uint8).reshape(-1, 512)[:, 1:]
    assert chisquare(byte_counts(lower.tobytes())).pvalue > FALSE_ALARM


def test_plain_hides_nothing() -> None:
    rehearsal = rehearse("plain", {})
    assert all((vector == VECTORS[site]).all() for site, vector in sent(rehearsal, a_round()).items())


# Ring: both neighbours of c are b and d

RING_PAIRS = [("b", "c"), ("c", "d")]


@pytest.mark.parametrize("colluding", ["bd", "b", "d", "abe", "ade"])
def test_ring_one_shot_is_broken_by_both_neighbours_with_the_coordinator_and_by_nobody_else(
    colluding: str,
) -> None:
    rehearsal = rehearse("ring", {})
    masked = sent(rehearsal, a_round())["c"]
    left = without_masks_of(colluding, "c", masked, rehearsal, RING_PAIRS)
    assert (left == VECTORS["c"]).all() if colluding == "bd" else looks_uniform(left)


def test_ring_hops_are_broken_by_both_neighbours() -> None:
    rehearsal = rehearse("ring-hops", {})
    rehearsal.run(VECTORS, a_round())
    payloads = {site: payload for _, site, payload, _ in rehearsal.relayed}
    answer_of_b = next(answer for _, site, _, answer in rehearsal.relayed if site == "b")
    # b knows what it sent to c, d opens what it got from c.
    b_received = from_bytes(unseal(rehearsal.members["b"], "a", a_round(), "ring hop", payloads["b"]), "a")
    d_received = from_bytes(unseal(rehearsal.members["d"], "c", a_round(), "ring hop", payloads["d"]), "c")
    assert answer_of_b == payloads["c"]
    assert (d_received - (b_received + VECTORS["b"]) == VECTORS["c"]).all()
    assert looks_uniform(d_received)


# k-secure: the same three learn nothing


@pytest.mark.parametrize("k", [2, 5])
def test_k_secure_one_shot_is_broken_by_all_partners_with_the_coordinator_and_by_no_fewer(k: int) -> None:
    rehearsal = rehearse("k-secure", {"k": k})
    masked = sent(rehearsal, a_round())["c"]
    others = partners(a_round(), "c", k)
    pairs = [(min("c", other), max("c", other)) for other in others]
    assert len(pairs) == min(k, 4)
    for missing in others:
        assert looks_uniform(without_masks_of({*others} - {missing}, "c", masked, rehearsal, pairs))
    assert (without_masks_of(others, "c", masked, rehearsal, pairs) == VECTORS["c"]).all()


def held_vector(kept: bytes) -> Words:
    """Return the vector at the end of what a site keeps."""
    return from_bytes(kept[-8 * WORDS :], "c")


def residual_after_hops(rehearsal: Watched, colluding: str) -> Words:
    """Return what is left of c's vector when the colluding sites take off all segments they know.

    They are given more than they can see: all that c holds once the segments are handed out, which is what
    c adds over all passes together.
    """
    members, sum_round = rehearsal.members, a_round()
    rehearsal.run(VECTORS, sum_round)
    held_step = min(step for step, site in rehearsal.held if site == "c")
    residual = held_vector(rehearsal.held[held_step, "c"])
    count = len(rehearsal.first["c"]) // NOTE_BYTES
    for giver in ROSTER:
        for place, receiver in enumerate(receivers(sum_round, giver, count)):
            note = rehearsal.first[giver][place * NOTE_BYTES : (place + 1) * NOTE_BYTES]
            if giver == "c" and receiver in colluding:
                add_keystream(residual, unseal(members[receiver], "c", sum_round, "segment", note))
            if receiver == "c" and giver in colluding:
                # The giver drew this segment itself; here it is read at the receiver.
                add_keystream(
                    residual, unseal(members["c"], giver, sum_round, "segment", note), subtract=True
                )
    return residual


def test_k_secure_hops_resist_both_ring_neighbours_with_the_coordinator() -> None:
    rehearsal = rehearse("k-secure-hops", {})
    assert looks_uniform(residual_after_hops(rehearsal, "bd"))
    assert looks_uniform(residual_after_hops(rehearsal, "abd"))
    assert (residual_after_hops(rehearsal, "abde") == VECTORS["c"]).all()


def test_k_secure_hops_add_a_fresh_random_part_in_every_pass() -> None:
    rehearsal = rehearse("k-secure-hops", {"k": 3})
    rehearsal.run(VECTORS, a_round())
    rests = [held_vector(kept) for (_, site), kept in rehearsal.held.items() if site == "c" and kept]
    assert len(rests) == 3
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert looks_uniform(rests[one] - rests[other])


# Double masks: what a coordinator gets that says of c to some that it has dropped out, and to others that it has not


def shares_of(rehearsal: Watched, told: Mapping[str, str]) -> dict[bool, dict[str, bytes]]:
    """Return the answers of the sites by whether they were told that c is there; "both" answers twice."""
    rehearsal.give(VECTORS, a_round())
    width = len(ROSTER) * SHARE_BYTES + SEAL_BYTES
    answers: dict[bool, dict[str, bytes]] = {True: {}, False: {}}
    for site, what in told.items():
        kept = rehearsal.kept[site]
        for c_is_there in (True, False) if what == "both" else (what == "there",):
            there = [name for name in ROSTER if c_is_there or name != "c"]
            notes = b"".join(
                rehearsal.first[sender][place * width : (place + 1) * width]
                for sender in there
                if sender != site
                for place in [[name for name in ROSTER if name != sender].index(site)]
            )
            payload = bytes(name in there for name in ROSTER) + notes
            # A site that colludes keeps what it should have forgotten.
            answer, rehearsal.kept[site] = rehearsal.protocol.respond(
                1, payload, kept, a_round(), rehearsal.members[site]
            )
            answers[c_is_there][site] = answer
    return answers


def opened_without_c(rehearsal: Watched, answers: Mapping[str, bytes]) -> Words:
    """Return the sum over the others, opened by the answers of those who believe that c has dropped out."""
    first = {site: payload for site, payload in rehearsal.first.items() if site != "c"}
    return rehearsal.protocol.total(first, a_round(), lambda step, payloads: dict(answers))


@pytest.mark.parametrize("options", [{}, {"share_threshold": "half"}], ids=str)
def test_a_coordinator_that_feigns_a_drop_out_gets_too_few_shares_of_one_kind(
    options: dict[str, str],
) -> None:
    rehearsal = rehearse("double-mask", options)
    fewest = rehearsal.protocol.fewest(a_round())
    # The sum over all is opened by as few as can; what is left of the sites is not enough for the sum without c.
    told = {site: "there" if number < fewest else "gone" for number, site in enumerate("cabde")}
    answers = shares_of(rehearsal, told)
    assert len(answers[True]) == fewest
    with pytest.raises(SumError):
        opened_without_c(rehearsal, answers[False])
    for site in answers[True]:
        with pytest.raises(SumError):
            rehearsal.answer(1, site, b"", a_round())


@pytest.mark.parametrize(("options", "colluding"), [({}, "abd"), ({"share_threshold": "half"}, "a")], ids=str)
def test_it_takes_2t_minus_n_sites_that_answer_twice(options: dict[str, str], colluding: str) -> None:
    rehearsal = rehearse("double-mask", options)
    fewest = rehearsal.protocol.fewest(a_round())
    assert len(colluding) == rehearsal.protocol.isolating(a_round()) == 2 * fewest - len(ROSTER)
    honest = [site for site in "cabde" if site not in colluding]
    told = {
        **dict.fromkeys(colluding, "both"),
        **{
            site: "there" if number < fewest - len(colluding) else "gone"
            for number, site in enumerate(honest)
        },
    }
    answers = shares_of(rehearsal, told)
    everyone = rehearsal.protocol.total(rehearsal.first, a_round(), lambda step, payloads: answers[True])
    assert (everyone - opened_without_c(rehearsal, answers[False]) == VECTORS["c"]).all()


@pytest.mark.parametrize("options", [{}, {"share_threshold": "half"}], ids=str)
def test_a_double_mask_is_broken_by_as_many_as_hold_enough_shares_and_by_no_fewer(
    options: dict[str, str],
) -> None:
    """The others' answers are what they hold: without them the own mask of c stays."""
    rehearsal = rehearse("double-mask", options)
    rehearsal.run(VECTORS, a_round())
    left = from_bytes(rehearsal.first["c"][-8 * WORDS :], "c")
    for other in "abde":
        adds = other > "c"
        giver, taker = ("c", other) if adds else (other, "c")
        key = sum_key(pair_key(rehearsal.members[other], "r", giver, taker, "double mask"), a_round())
        add_keystream(left, key, subtract=adds)
    assert looks_uniform(left)
    shares = dict(
        list(enumerate(answer[2 * SHARE_BYTES :][:SHARE_BYTES] for *_, answer in rehearsal.relayed))
    )
    fewest = rehearsal.protocol.fewest(a_round())
    add_keystream(left, combine({place: shares[place] for place in range(fewest)}), subtract=True)
    assert (left == VECTORS["c"]).all()


def test_a_vector_that_comes_too_late_stays_hidden() -> None:
    """The coordinator has removed all masks that c shares with others, and holds its vector under its own one."""
    rehearsal = rehearse("double-mask", {"share_threshold": "half"})
    rehearsal.give(VECTORS, a_round())
    late = from_bytes(rehearsal.first.pop("c")[-8 * WORDS :], "c")
    assert rehearsal.take(a_round()).tolist() == [0 + 1 + 3 + 4] * WORDS
    for other in "abde":
        giver, taker = ("c", other) if other > "c" else (other, "c")
        key = sum_key(pair_key(rehearsal.members[other], "r", giver, taker, "double mask"), a_round())
        add_keystream(late, key, subtract=other > "c")
    assert looks_uniform(late)


# Paillier


@pytest.mark.parametrize("active", [False, True])
def test_paillier_is_broken_by_the_key_holder_and_by_an_active_coordinator(active: bool) -> None:
    """A key holder opens whatever it likes, and an honest one a single vector in place of the sum."""
    sum_round, alone = a_round(roster=("a", "b", "c")), SumRound("r", "t", 1, 0, ("a",))
    rehearsal = rehearse("paillier", {"key_bits": 2048}, sum_round.roster)
    vectors = {name: np.full(30, number, np.uint64) for number, name in enumerate(sum_round.roster)}
    rehearsal.run(vectors, sum_round)
    own = rehearsal.members["a"]
    kept = save_step_state(alone, 1, (30).to_bytes(8, "big"))
    if active:
        _, kept = rehearsal.protocol.contribute(vectors["a"], sum_round, own)
    opened, _ = rehearsal.protocol.respond(1, rehearsal.first["c"], kept, sum_round if active else alone, own)
    # Two of the three offsets of 2**63 are missing, which cancels modulo 2**64.
    assert (from_bytes(opened, "a") == vectors["c"]).all()


# What no protocol here protects against


@pytest.mark.parametrize(("name", "options"), [*ONE_SHOT, *HOPS, *DOUBLE], ids=str)
def test_two_sums_tell_the_vector_of_a_site_that_is_in_one_only(name: str, options: dict[str, Any]) -> None:
    rehearsal = rehearse(name, options)
    everyone = rehearsal.run(VECTORS, a_round())
    others = rehearsal.run(VECTORS, a_round(attempt=1, roster=("a", "b", "d", "e")))
    assert (everyone - others == VECTORS["c"]).all()


def test_a_changed_one_shot_vector_goes_unnoticed() -> None:
    rehearsal = rehearse("ring", {})
    honest = rehearsal.run(VECTORS, a_round())
    changed = from_bytes(rehearsal.first["c"], "c") + 7
    total = rehearsal.protocol.total(
        {**rehearsal.first, "c": changed.tobytes()},
        a_round(),
        lambda step, payloads: {},
    )
    assert (total - honest == 7).all()


def test_sites_that_are_told_different_rosters_give_nothing_but_noise() -> None:
    rehearsal = rehearse("k-secure", {})
    payloads = {
        name: rehearsal.protocol.contribute(VECTORS[name], a_round(roster=roster), rehearsal.members[name])[0]
        for name, roster in ((name, ROSTER if name != "c" else ROSTER[::-1]) for name in ROSTER)
    }
    assert looks_uniform(rehearsal.protocol.total(payloads, a_round(), lambda step, payloads: {}))
