import builtins
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import gcd, prod
from typing import Any
from unittest.mock import patch

import gmpy2
import numpy as np
import pytest
from phe.paillier import PaillierPrivateKey, PaillierPublicKey

from flower_pansvm.errors import SettingError, SumError
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.contract import Member, SumRound, Words
from flower_pansvm.secure_sum.protocols.paillier import Paillier, is_weak, split_fields
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.secure_sum.rehearsal import Rehearsal, gather_members
from flower_pansvm.secure_sum.step_state import save_step_state
from flower_pansvm.secure_sum.tags import join_fields
from flower_pansvm.terms import Terms
from strategies.settings import settings_from

THIS = SumRound(run="r", task="t", round_trip=1, attempt=0, roster=("a", "b", "c"))
WORDS = 40  # two ciphertexts with a key of 2048 bits


@cache
def members() -> Mapping[str, Member]:
    return gather_members(Paillier(key_bits=2048), THIS.roster)


def rehearse() -> Rehearsal:
    return Rehearsal(Paillier(key_bits=2048), members())


def vectors(*values: int) -> dict[str, Words]:
    return {
        name: np.full(WORDS, value % 2**64, dtype=np.uint64)
        for name, value in zip(THIS.roster, values, strict=True)
    }


def secret_key(site: str = "a") -> PaillierPrivateKey:
    p, q = (int.from_bytes(half, "big") for half in split_fields(members()[site].secret, 2, site))
    return PaillierPrivateKey(PaillierPublicKey(p * q), p, q)


def test_keys_are_as_short_exponents_need_them() -> None:
    for site in THIS.roster:
        key = secret_key(site)
        assert key.p % 4 == key.q % 4 == 3
        assert gcd(key.p - 1, key.q - 1) == 2
        assert key.public_key.n.bit_length() == 2048
        assert members()["b"].published[site] == key.public_key.n.to_bytes(256, "big")
    assert len({secret_key(site).public_key.n for site in THIS.roster}) == 3


def test_another_library_opens_what_is_sent() -> None:
    rehearsal = rehearse()
    rehearsal.run(vectors(1, 2, 3), THIS)
    _, ciphertexts = rehearsal.protocol._read(rehearsal.first["b"], "b")  # type: ignore[attr-defined]
    plaintext = secret_key().raw_decrypt(ciphertexts[0])
    assert plaintext % 2**72 == 2 + 2**63


def test_the_key_holder_sees_the_sum_and_not_how_it_came_about() -> None:
    seen = []
    for values in ((-5, 3, 4), (1, 1, 0), (-1, -1, 4), (2**61, -(2**61), 2)):
        rehearsal = rehearse()
        assert rehearsal.run(vectors(*values), THIS).tolist() == [2] * WORDS
        [(_, holder, payload, _)] = rehearsal.relayed
        assert holder == "a"
        _, ciphertexts = rehearsal.protocol._read(payload, "a")  # type: ignore[attr-defined]
        seen.append([secret_key().raw_decrypt(ciphertext) for ciphertext in ciphertexts])
    assert all(plaintexts == seen[0] for plaintexts in seen)


def test_the_product_is_blinded_before_it_goes_to_the_key_holder() -> None:
    rehearsal = rehearse()
    rehearsal.run(vectors(1, 2, 3), THIS)
    read = rehearsal.protocol._read  # type: ignore[attr-defined]
    n, product = read(rehearsal.first["a"], "a")
    for name in ("b", "c"):
        product = [a * b % n**2 for a, b in zip(product, read(rehearsal.first[name], name)[1], strict=True)]
    [(_, _, payload, _)] = rehearsal.relayed
    _, blinded = read(payload, "a")
    assert all(a != b for a, b in zip(product, blinded, strict=True))
    opened = secret_key().raw_decrypt
    assert [opened(a) for a in product] == [opened(b) for b in blinded]


def test_the_key_holder_opens_no_more_than_one_sum() -> None:
    rehearsal = rehearse()
    protocol = rehearsal.protocol
    _, kept = protocol.contribute(vectors(1, 2, 3)["a"], THIS, members()["a"])
    payload, _ = protocol.contribute(vectors(1, 2, 3)["b"], THIS, members()["b"])
    n, joined = split_fields(payload, 2, "b")
    other_n, ones = members()["a"].published["c"], (1).to_bytes(512, "big") * 2
    for broken in (join_fields(n, joined * 2), join_fields(n, joined[:512]), join_fields(other_n, ones)):
        with pytest.raises(SumError):
            protocol.respond(1, broken, kept, THIS, members()["a"])
    _, kept = protocol.respond(1, payload, kept, THIS, members()["a"])
    of_b = protocol.contribute(vectors(1, 2, 3)["b"], THIS, members()["b"])[1]
    for site, state in (("a", kept), ("b", of_b)):
        with pytest.raises(SumError):
            protocol.respond(1, payload, state, THIS, members()[site])


def test_a_changed_ciphertext_shows_when_it_is_opened() -> None:
    rehearsal = rehearse()
    rehearsal.run(vectors(1, 2, 3), THIS)
    n, joined = split_fields(rehearsal.first["c"], 2, "c")
    flipped = join_fields(n, joined[:100] + bytes([joined[100] ^ 1]) + joined[101:])
    kept = save_step_state(THIS, 1, WORDS.to_bytes(8, "big"))

    def relay(step: int, payloads: Mapping[str, bytes]) -> dict[str, bytes]:
        return {"a": rehearsal.protocol.respond(step, payloads["a"], kept, THIS, members()["a"])[0]}

    with pytest.raises(SumError):
        rehearsal.protocol.total({**rehearsal.first, "c": flipped}, THIS, relay)


@pytest.mark.parametrize("damage", ["zero", "too large", "cut short", "other key"])
def test_damaged_first_messages_are_errors_that_name_the_site(damage: str) -> None:
    rehearsal = rehearse()
    rehearsal.run(vectors(1, 2, 3), THIS)
    n, joined = split_fields(rehearsal.first["b"], 2, "b")
    broken = {
        "zero": join_fields(n, bytes(512) + joined[512:]),
        "too large": join_fields(n, b"\xff" * 512 + joined[512:]),
        "cut short": join_fields(n, joined[:-1]),
        "other key": join_fields(members()["a"].published["c"], joined),
    }[damage]
    with pytest.raises(SumError, match="'b'"):
        rehearsal.protocol.total({**rehearsal.first, "b": broken}, THIS, lambda step, payloads: {})


@pytest.mark.parametrize("bits", [1024, 2048])
def test_no_run_has_keys_of_another_length(bits: int) -> None:
    """Whoever sets up a run cannot have hospitals encrypt under keys that can be broken."""
    assert protocol_of(Terms("paillier", config={"key-bits": bits})) == Paillier(key_bits=3072)
    with pytest.raises(SettingError, match="no setting 'key-bits'"):
        settings_from({"aggregation": "paillier", "key-bits": bits})


@pytest.mark.parametrize(("bits", "more"), [(3072, 0), (2048, 254)])
def test_keys_of_another_length_and_more_sites_than_the_guard_bits_allow_are_refused(
    bits: int, more: int
) -> None:
    sum_round = replace(THIS, roster=(*THIS.roster, *(f"site-{number}" for number in range(more))))
    with pytest.raises(SumError):
        Paillier(key_bits=bits).contribute(np.zeros(2, np.uint64), sum_round, members()["b"])


def test_without_phe_the_error_names_the_command() -> None:
    real_import = builtins.__import__

    def no_phe(name: str, *args: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == "phe":
            raise ImportError(name)
        return real_import(name, *args)

    with patch.dict(sys.modules), patch.object(builtins, "__import__", no_phe):
        for module in [name for name in sys.modules if name.split(".")[0] == "phe"]:
            del sys.modules[module]
        del sys.modules["flower_pansvm.secure_sum.protocols.paillier"]
        with pytest.raises(SettingError, match=r"'\.\[paillier\]'"):
            PROTOCOLS["paillier"]


PRIME = 2**1279 - 1
"""A Mersenne prime."""


@pytest.mark.parametrize(
    "factors", [(PRIME,), (PRIME,) * 2, (PRIME,) * 3, (65521, PRIME), (3, PRIME), (2, 2)]
)
def test_a_key_that_gives_its_factors_away_is_weak(factors: tuple[int, ...]) -> None:
    assert is_weak(prod(factors))
    assert not is_weak(PRIME * (2**2203 - 1))


def test_a_site_encrypts_nothing_under_a_prime() -> None:
    """Everyone knows phi of a prime, so that everyone could open what is encrypted under it."""
    prime = int(gmpy2.next_prime(secret_key().public_key.n))
    victim = members()["b"]
    lied_to = replace(victim, published={**victim.published, "a": prime.to_bytes(256, "big")})
    with pytest.raises(SumError, match="'a'"):
        Paillier(key_bits=2048).contribute(vectors(1, 2, 3)["b"], THIS, lied_to)
