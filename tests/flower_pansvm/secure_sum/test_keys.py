from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import Member, SumRound
from flower_pansvm.secure_sum.keys import keystream, pair_key, seal, sum_key, unseal
from flower_pansvm.secure_sum.protocols.paillier import split_fields
from flower_pansvm.secure_sum.tags import join_fields

THIS = SumRound(run="run", task="task", round_trip=2, attempt=1, roster=("a", "b", "c"))


def fresh_members(*names: str) -> dict[str, Member]:
    keys = {name: X25519PrivateKey.generate() for name in names}
    publics = {name: key.public_key().public_bytes_raw() for name, key in keys.items()}
    return {name: Member(name, keys[name], publics) for name in names}


def test_stream_is_aes_256_in_counter_mode() -> None:
    # FIPS 197, appendix C.3: the key below; here the first block of the counter is zero.
    key = bytes(range(32))
    assert keystream(key, 2).astype("<u8").tobytes().hex() == "f29000b62a499fd0a9f39a6add2e7780"


def test_longer_stream_begins_with_the_shorter() -> None:
    key = bytes(range(32))
    assert keystream(key, 0).size == 0
    assert keystream(key, 40_000)[:20_000].tolist() == keystream(key, 20_000).tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"run": "ru"},
        {"task": "tas"},
        {"round_trip": 3},
        {"attempt": 0},
        {"roster": ("a", "b")},
        {"roster": ("b", "a", "c")},
        {"roster": ("a", "bc")},
        {"keys": "00"},
    ],
    ids=str,
)
def test_every_part_of_a_sum_changes_its_key(change: dict[str, object]) -> None:
    key = bytes(32)
    assert sum_key(key, THIS) != sum_key(key, replace(THIS, **change))  # type: ignore[arg-type]


def test_direction_purpose_and_run_change_the_pair_key() -> None:
    member = fresh_members("a", "b")["a"]
    keys = {
        pair_key(member, "run", "a", "b", "mask"),
        pair_key(member, "run", "b", "a", "mask"),
        pair_key(member, "run", "a", "b", "note/x"),
        pair_key(member, "other", "a", "b", "mask"),
    }
    assert len(keys) == 4


def test_split_fields_undoes_join_fields_and_nothing_else() -> None:
    joined = join_fields(b"", b"ab", bytes(3))
    assert split_fields(joined, 3, "a") == [b"", b"ab", bytes(3)]
    for broken in (joined[:-1], joined + b"x", joined[:5], b""):
        with pytest.raises(SumError, match="damaged"):
            split_fields(broken, 3, "a")
    with pytest.raises(SumError):
        split_fields(joined, 2, "a")


def test_a_missing_or_unusable_public_key_is_an_error() -> None:
    member = Member("a", X25519PrivateKey.generate(), {"short": b"123", "zero": bytes(32)})
    with pytest.raises(SumError, match="'b'"):
        pair_key(member, "run", "a", "b", "mask")
    for peer in ("short", "zero"):
        with pytest.raises(SumError):
            pair_key(member, "run", "a", peer, "mask")


def test_sealing_twice_never_uses_a_nonce_twice() -> None:
    member = fresh_members("a", "b")["a"]
    sealed = [seal(member, "b", THIS, "hop", b"note") for _ in range(100)]
    assert len({note[:12] for note in sealed}) == 100


def test_a_note_opens_for_nobody_else_and_nothing_else() -> None:
    members = fresh_members("a", "b", "c")
    sealed = seal(members["a"], "b", THIS, "hop", b"note")
    assert unseal(members["b"], "a", THIS, "hop", sealed) == b"note"
    flipped = bytes([sealed[20] ^ 1])
    attempts = [
        (members["b"], "a", THIS, "hop", sealed[:20] + flipped + sealed[21:]),
        (members["b"], "a", THIS, "hop", bytes(12) + sealed[12:]),
        (members["b"], "a", THIS, "hop", sealed[:-1]),
        (members["b"], "a", THIS, "hop", sealed[:5]),
        (members["b"], "a", THIS, "hop", b""),
        (members["b"], "a", THIS, "other", sealed),
        (members["b"], "a", replace(THIS, attempt=2), "hop", sealed),
        (members["b"], "c", THIS, "hop", sealed),
        (members["c"], "a", THIS, "hop", sealed),
        (members["a"], "b", THIS, "hop", sealed),
    ]
    for member, sender, this, purpose, note in attempts:
        with pytest.raises(SumError):
            unseal(member, sender, this, purpose, note)
