"""One suite that every protocol must pass, a user's own as well."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.registry import Registry
from flower_pansvm.secure_sum import make, protocol_names, register
from flower_pansvm.secure_sum.contract import Member, Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.fixed_point import decode, encode
from flower_pansvm.secure_sum.plain import Plain
from flower_pansvm.secure_sum.rehearsal import Rehearsal, gather_members
from flower_pansvm.secure_sum.selection import protocol_of
from flower_pansvm.secure_sum.wire import add_all, from_bytes, to_bytes
from flower_pansvm.terms import Terms

DOCS = Path(__file__).parents[3] / "docs" / "secure-sums.md"


def example_of_the_docs() -> type[SecureSum]:
    """Register the protocol that the docs show to users, and return its class."""
    block = DOCS.read_text(encoding="utf-8").split("<!-- own protocol -->\n```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(block, names)
    example: type[SecureSum] = names["AllPairs"]
    return example


EXAMPLE = example_of_the_docs()

PROTOCOLS: list[tuple[str, dict[str, Any]]] = [
    ("plain", {}),
    ("ring", {}),
    ("ring", {"execution": "hops"}),
    ("k-secure", {}),
    ("k-secure", {"k": 2}),
    ("k-secure", {"k": 3}),
    ("k-secure", {"k": 2, "execution": "hops"}),
    ("k-secure", {"k": 3, "execution": "hops"}),
    ("k-secure", {"execution": "hops"}),
    ("paillier", {"key_bits": 2048}),
    (EXAMPLE.name, {}),
]
every_protocol = pytest.mark.parametrize(("name", "options"), PROTOCOLS, ids=str)


def site_names(count: int) -> tuple[str, ...]:
    return tuple(f"site-{number}" for number in range(count))


def a_round(count: int, **changes: Any) -> SumRound:
    fields = {"run": "r", "task": "t", "round_trip": 1, "attempt": 0, "roster": site_names(count)}
    return SumRound(**{**fields, **changes})


def random_vectors(roster: tuple[str, ...], words: int, seed: int) -> dict[str, Words]:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, 2**64, words, dtype=np.uint64) for name in roster}


def exact_sum(vectors: Mapping[str, Words]) -> list[int]:
    return [sum(column) % 2**64 for column in zip(*(v.tolist() for v in vectors.values()), strict=True)]


def no_relay(step: int, payloads: Mapping[str, bytes]) -> dict[str, bytes]:
    raise AssertionError("the answers must be checked before anything is relayed")


@cache
def paillier_keys() -> tuple[bytes, bytes]:
    """One key pair for all sites of this suite, since making them takes long."""
    return make("paillier", key_bits=2048).prepare()


def rehearse(name: str, options: dict[str, Any], roster: tuple[str, ...]) -> Rehearsal:
    protocol = make(name, **options)
    with ExitStack() as stack:
        if name == "paillier":
            keys = paillier_keys()
            stack.enter_context(patch.object(type(protocol), "prepare", lambda _: keys))
        return Rehearsal(protocol, gather_members(protocol, roster))


def test_every_registered_protocol_is_in_this_suite() -> None:
    assert {name for name, _ in PROTOCOLS} == set(protocol_names())


@every_protocol
@settings(max_examples=12, deadline=None)
@given(sites=st.integers(2, 20), words=st.integers(0, 40), seed=st.integers(0, 2**32))
def test_sum_equals_the_exact_integer_sum(
    name: str, options: dict[str, Any], sites: int, words: int, seed: int
) -> None:
    this = a_round(sites)
    vectors = random_vectors(this.roster, words, seed)
    total = rehearse(name, options, this.roster).run(vectors, this)
    assert total.dtype == np.uint64
    assert total.tolist() == exact_sum(vectors)


@every_protocol
@settings(max_examples=8, deadline=None)
@given(
    shape=st.sampled_from([(), (0,), (3,), (2, 0, 4), (2, 3), (1, 2, 2)]),
    magnitude=st.sampled_from([1e-9, 1.0, 1e6]),
    bounded=st.booleans(),
)
def test_floats_of_any_shape_sign_and_magnitude(
    name: str, options: dict[str, Any], shape: tuple[int, ...], magnitude: float, bounded: bool
) -> None:
    sites = 4
    this = a_round(sites)
    rng = np.random.default_rng(len(shape))
    arrays: list[NDArray[np.float64]] = [
        np.asarray(rng.uniform(-magnitude, magnitude, shape)) for _ in this.roster
    ]
    bound = magnitude if bounded else None
    vectors = {site: encode(values, bound, sites) for site, values in zip(this.roster, arrays, strict=True)}
    total = rehearse(name, options, this.roster).run(vectors, this)
    plain = rehearse("plain", {}, this.roster).run(vectors, this)
    assert total.tobytes() == plain.tobytes()
    result = decode(total, shape, bound, sites)
    assert result.shape == shape
    np.testing.assert_allclose(result, np.sum(arrays, axis=0), rtol=0, atol=magnitude * 1e-14)


@every_protocol
def test_the_vector_itself_is_left_unchanged(name: str, options: dict[str, Any]) -> None:
    this = a_round(4)
    vectors = random_vectors(this.roster, 10, seed=1)
    before = {site: vector.copy() for site, vector in vectors.items()}
    rehearse(name, options, this.roster).run(vectors, this)
    assert all((vectors[site] == before[site]).all() for site in this.roster)


@every_protocol
def test_order_of_the_roster_does_not_change_the_sum(name: str, options: dict[str, Any]) -> None:
    this = a_round(5)
    turned = a_round(5, roster=this.roster[::-1])
    vectors = random_vectors(this.roster, 10, seed=2)
    rehearsal = rehearse(name, options, this.roster)
    assert (rehearsal.run(vectors, this) == rehearsal.run(vectors, turned)).all()


@every_protocol
def test_sum_is_repeated_without_a_lost_site(name: str, options: dict[str, Any]) -> None:
    this = a_round(5)
    left = tuple(site for site in this.roster if site != "site-0")
    vectors = random_vectors(this.roster, 10, seed=3)
    rehearsal = rehearse(name, options, this.roster)
    rehearsal.run(vectors, this)
    total = rehearsal.run(vectors, a_round(5, attempt=1, roster=left))
    assert total.tolist() == exact_sum({site: vectors[site] for site in left})


@every_protocol
def test_a_site_outside_the_roster_refuses(name: str, options: dict[str, Any]) -> None:
    rehearsal = rehearse(name, options, site_names(4))
    with pytest.raises(SumError, match="does not name it"):
        rehearsal.protocol.contribute(np.zeros(3, np.uint64), a_round(3), rehearsal.members["site-3"])


@every_protocol
def test_a_site_alone_refuses(name: str, options: dict[str, Any]) -> None:
    rehearsal = rehearse(name, options, site_names(2))
    with pytest.raises(SumError, match="alone"):
        rehearsal.protocol.contribute(np.zeros(3, np.uint64), a_round(1), rehearsal.members["site-0"])


@every_protocol
def test_a_missing_or_an_unknown_answer_is_an_error(name: str, options: dict[str, Any]) -> None:
    this = a_round(3)
    rehearsal = rehearse(name, options, this.roster)
    rehearsal.run(random_vectors(this.roster, 4, seed=4), this)
    first = dict(rehearsal.first)

    with pytest.raises(SumError, match="site-1"):
        rehearsal.protocol.total({k: v for k, v in first.items() if k != "site-1"}, this, no_relay)
    with pytest.raises(SumError, match="stranger"):
        rehearsal.protocol.total({**first, "stranger": b""}, this, no_relay)


@every_protocol
@pytest.mark.parametrize("words", [1, 200])
def test_vectors_of_different_lengths_are_an_error(name: str, options: dict[str, Any], words: int) -> None:
    this = a_round(4)
    vectors = random_vectors(this.roster, 4, seed=9)
    vectors["site-2"] = np.zeros(words, np.uint64)
    # Paillier packs, so only a difference in the number of ciphertexts shows.
    if name == "paillier" and words == 1:
        vectors["site-2"] = np.zeros(0, np.uint64)
    with pytest.raises(SumError, match=r"The vector from .site-\d"):
        rehearse(name, options, this.roster).run(vectors, this)


def test_a_roster_with_a_repeated_site_is_refused() -> None:
    with pytest.raises(SumError, match="twice"):
        a_round(2, roster=("a", "b", "a"))


@pytest.mark.parametrize("change", [{"round_trip": -1}, {"attempt": -1}])
def test_a_broken_request_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(SumError, match="broken"):
        a_round(2, **change)


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name, options in PROTOCOLS if (name, options) != ("ring", {"execution": "hops"})],
    ids=str,
)
@pytest.mark.parametrize("cut", [8, 3])
def test_a_truncated_first_message_is_an_error(name: str, options: dict[str, Any], cut: int) -> None:
    this = a_round(3)
    rehearsal = rehearse(name, options, this.roster)
    rehearsal.run(random_vectors(this.roster, 4, seed=5), this)
    broken = {**rehearsal.first, "site-2": rehearsal.first["site-2"][:-cut]}
    with pytest.raises(SumError, match="site-2"):
        rehearsal.protocol.total(broken, this, no_relay)


@every_protocol
def test_a_relay_step_is_done_once_and_in_its_turn(name: str, options: dict[str, Any]) -> None:
    this = a_round(4)
    rehearsal = rehearse(name, options, this.roster)
    rehearsal.run(random_vectors(this.roster, 4, seed=7), this)
    for step, site, payload, _ in rehearsal.relayed:
        with pytest.raises(SumError, match="done already"):
            rehearsal.answer(step, site, payload, this)
    fresh = {
        site: rehearsal.protocol.contribute(np.zeros(4, np.uint64), this, rehearsal.members[site])[1]
        for site in this.roster
    }
    for step, site, payload, _ in rehearsal.relayed:
        with pytest.raises(SumError, match="belongs to another sum"):
            rehearsal.protocol.respond(
                step, payload, fresh[site], a_round(4, attempt=1), rehearsal.members[site]
            )
        with pytest.raises(SumError, match="not this site's turn"):
            rehearsal.protocol.respond(step + 1, payload, fresh[site], this, rehearsal.members[site])


@pytest.mark.parametrize("name", ["ring", "k-secure"])
def test_an_unknown_execution_is_an_error(name: str) -> None:
    with pytest.raises(SettingError, match=r"no execution 'hop'\. Did you mean 'hops'"):
        make(name, execution="hop")


@pytest.mark.parametrize("k", [1, -3, 2.5])
def test_too_small_a_k_is_an_error(k: int) -> None:
    with pytest.raises(SettingError, match=f"k is '{k}'"):
        make("k-secure", k=k)


def test_a_protocol_without_relay_steps_refuses_one() -> None:
    rehearsal = rehearse("plain", {}, site_names(3))
    with pytest.raises(SumError, match="'plain' has no relay steps"):
        rehearsal.protocol.respond(1, b"", b"", a_round(3), rehearsal.members["site-1"])


def test_one_shot_takes_no_relay_and_hops_take_as_many_as_published() -> None:
    this = a_round(5)
    counts = {}
    for name, options in PROTOCOLS:
        rehearsal = rehearse(name, options, this.roster)
        rehearsal.run(random_vectors(this.roster, 2, seed=8), this)
        counts[name, options.get("k"), options.get("execution")] = len(rehearsal.relayed)
    assert counts == {
        ("plain", None, None): 0,
        ("ring", None, None): 0,
        ("ring", None, "hops"): 5,
        ("k-secure", None, None): 0,
        ("k-secure", 2, None): 0,
        ("k-secure", 3, None): 0,
        ("k-secure", 2, "hops"): 5 + 2 * 5 - 1,
        ("k-secure", 3, "hops"): 5 + 3 * 5 - 1,
        ("k-secure", None, "hops"): 5 + 5 * 5 - 1,
        ("paillier", None, None): 1,
        ("all-pairs", None, None): 0,
    }


def test_unknown_names_are_answered_with_the_near_ones() -> None:
    with pytest.raises(SettingError, match=r"'rings'.*Did you mean 'ring'"):
        make("rings")


class Shouted(SecureSum):
    """A protocol of a user's own, complete: it sends every vector twice."""

    name = "shouted"
    protected = False

    def contribute(self, vector: Words, this: SumRound, member: Member) -> tuple[bytes, bytes]:
        return to_bytes(vector) * 2, b""

    def total(self, payloads: Mapping[str, bytes], this: SumRound, relay: Relay) -> Words:
        return add_all({name: payload[: len(payload) // 2] for name, payload in payloads.items()}, this)


def test_a_user_registers_an_own_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flower_pansvm.secure_sum._protocols", Registry("secure sum"))
    register(Plain)
    register(Shouted)
    this = a_round(3)
    vectors = random_vectors(this.roster, 4, seed=6)
    assert rehearse("shouted", {}, this.roster).run(vectors, this).tolist() == exact_sum(vectors)
    with pytest.raises(SettingError, match=r"two of the secure sum 'shouted'.*Shouted"):
        register(type("Other", (Shouted,), {}))


def test_the_example_of_the_docs_is_chosen_by_a_setting_and_hides_each_vector() -> None:
    assert isinstance(protocol_of(Terms(aggregation="all-pairs")), EXAMPLE)
    this = a_round(4)
    vectors = random_vectors(this.roster, 100, seed=10)
    rehearsal = rehearse("all-pairs", {}, this.roster)
    rehearsal.run(vectors, this)
    seen = {site: from_bytes(payload, site) for site, payload in rehearsal.first.items()}
    assert not any(np.isin(seen[site], vectors[site]).any() for site in this.roster)


def test_words_survive_the_wire_on_any_machine() -> None:
    words = np.array([1, 2**63, 2**64 - 2], dtype=np.uint64)
    assert to_bytes(words) == to_bytes(words.astype(">u8"))
    assert to_bytes(words)[:8] == b"\x01" + bytes(7)
    assert from_bytes(to_bytes(words), "a").tolist() == words.tolist()
