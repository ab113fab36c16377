"""The known answers in tests/vectors: the code gives them, and so does what is written here from the docs alone."""

import hashlib
import hmac
import json
import runpy
from fractions import Fraction
from math import gcd
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

FOLDER = Path(__file__).parents[2] / "vectors"
FILES = sorted(file.name for file in FOLDER.glob("*.json"))
WORD = 2**64


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """Return the files as this version of the code would write them."""
    found: dict[str, str] = runpy.run_path(str(FOLDER / "generate.py"))["files"]()
    return found


def test_all_files_are_generated(generated: dict[str, str]) -> None:
    assert sorted(generated) == FILES


@pytest.mark.parametrize("name", FILES)
def test_the_code_gives_the_known_answers(name: str, generated: dict[str, str]) -> None:
    assert json.loads(generated[name]) == read(name)


# From here on nothing of this project is used: another implementation, as short as can be.


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def joined(*fields: bytes) -> bytes:
    return b"".join(len(field).to_bytes(8, "big") + field for field in fields)


def context(of: dict[str, Any]) -> bytes:
    numbers = (of["round_trip"].to_bytes(8, "big"), of["attempt"].to_bytes(8, "big"))
    roster = joined(*(name.encode() for name in of["roster"]))
    return joined(of["run"].encode(), *numbers, of["task"].encode(), roster, of["keys"].encode())


def sum_key(of: dict[str, Any], privates: dict[str, str], sender: str, receiver: str, use: str) -> bytes:
    """HKDF-SHA256 by RFC 5869: extract and expand for the pair, expand again for the sum."""
    keys = {
        name: X25519PrivateKey.from_private_bytes(bytes.fromhex(privates[name]))
        for name in (sender, receiver)
    }
    publics = [key.public_key().public_bytes_raw() for key in keys.values()]
    extracted = hmac.digest(bytes(32), keys[sender].exchange(keys[receiver].public_key()), "sha256")
    names = (of["run"].encode(), sender.encode(), receiver.encode())
    pair = joined(b"flower-pansvm/1/pair", *names, *publics, use.encode())
    key = hmac.digest(extracted, pair + b"\x01", "sha256")
    return hmac.digest(key, joined(b"flower-pansvm/1/sum", context(of)) + b"\x01", "sha256")


def stream(key: bytes, words: int) -> list[int]:
    plain = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(8 * words))
    return [int.from_bytes(plain[place : place + 8], "little") for place in range(0, 8 * words, 8)]


def numbers(words: list[str]) -> list[int]:
    return [int(word, 16) for word in words]


def as_bytes(values: list[int]) -> str:
    return b"".join((value % WORD).to_bytes(8, "little") for value in values).hex()


def test_fields_sums_and_words_on_the_wire() -> None:
    wire = read("wire.json")
    for case in wire["fields"]:
        assert joined(*map(bytes.fromhex, case["fields"])).hex() == case["joined"]
    for case in wire["sums"]:
        assert context(case["sum"]).hex() == case["context"]
    assert as_bytes(numbers(wire["words"]["words"])) == wire["words"]["bytes"]
    published = sorted(wire["keys_digest"]["published"].items())
    whole = b"".join(joined(name.encode(), bytes.fromhex(keys)) for name, keys in published)
    assert hashlib.sha256(whole).hexdigest() == wire["keys_digest"]["digest"]


def test_the_signature_on_a_sites_keys() -> None:
    case = read("wire.json")["run_keys"]
    parts = (case["run"].encode(), case["site"].encode())
    keys = (bytes.fromhex(case[part]) for part in ("public_key", "published", "epochs"))
    signed = joined(b"flower-pansvm/2/run-keys", *parts, *keys)
    assert signed.hex() == case["signed_bytes"]
    identity = Ed25519PublicKey.from_public_bytes(bytes.fromhex(case["identity_public"]))
    identity.verify(bytes.fromhex(case["signature"]), signed)


def test_masks_and_notes() -> None:
    for case in read("keys.json")["masks"]:
        sender, receiver = case["sender"], case["receiver"]
        privates = {sender: case["sender_private"], receiver: case["receiver_private"]}
        key = sum_key(case["sum"], privates, sender, receiver, "mask")
        assert key.hex() == case["sum_key"]
        assert stream(key, len(case["mask"])) == numbers(case["mask"])
    for case in read("keys.json")["notes"]:
        sender, receiver, purpose = case["sender"], case["receiver"], case["purpose"]
        key = sum_key(case["sum"], case["private_keys"], sender, receiver, f"note/{purpose}")
        names = (sender.encode(), receiver.encode(), purpose.encode())
        associated = joined(b"flower-pansvm/1/note", context(case["sum"]), *names)
        nonce, sealed = bytes.fromhex(case["sealed"][:24]), bytes.fromhex(case["sealed"][24:])
        assert nonce.hex() == case["random"][0]
        assert ChaCha20Poly1305(key).decrypt(nonce, sealed, associated).hex() == case["note"]


def test_a_ring_in_one_shot() -> None:
    case = read("ring.json")[0]
    roster, privates = case["sum"]["roster"], case["private_keys"]
    for place, site in enumerate(roster):
        before, after = roster[place - 1], roster[(place + 1) % len(roster)]
        vector = numbers(case["vectors"][site])
        given = stream(sum_key(case["sum"], privates, site, after, "mask"), len(vector))
        taken = stream(sum_key(case["sum"], privates, before, site, "mask"), len(vector))
        masked = [value + plus - minus for value, plus, minus in zip(vector, given, taken, strict=True)]
        assert as_bytes(masked) == case["first"][site]


def test_double_masks_and_the_shares_of_their_seeds() -> None:
    prime = 2**256 + 297
    for case in read("double_mask.json"):
        roster, privates = case["sum"]["roster"], case["private_keys"]
        sites, draws = len(roster), iter(case["random"])
        threshold = (sites // 2 if case.get("share_threshold") == "half" else 2 * sites // 3) + 1
        shares = {}
        for place, site in enumerate(roster):
            others = [other for other in roster if other != site]
            seeds = [bytes.fromhex(next(draws))]
            masked = [
                value + own
                for value, own in zip(numbers(case["vectors"][site]), stream(seeds[0], 6), strict=True)
            ]
            for other in others:
                adds = roster.index(other) > place
                pair = (site, other) if adds else (other, site)
                seeds.append(sum_key(case["sum"], privates, *pair, "double mask"))
                masked = [
                    value + (mask if adds else -mask)
                    for value, mask in zip(masked, stream(seeds[-1], 6), strict=True)
                ]
            for number, seed in enumerate(seeds):
                powers = [int(next(draws), 16) for _ in range(threshold - 1)] + [int.from_bytes(seed, "big")]
                for x, holder in enumerate(roster, start=1):
                    value = sum(power * x**up for up, power in enumerate(reversed(powers))) % prime
                    shares[site, number, holder] = value.to_bytes(33, "big")
            nonces = [next(draws) for _ in others]
            if site in case["first"]:
                note_bytes = 12 + 33 * sites + 16
                first = bytes.fromhex(case["first"][site])
                assert first[(sites - 1) * note_bytes :].hex() == as_bytes(masked)
                assert [first[note_bytes * at :][:12].hex() for at in range(sites - 1)] == nonces
        there = [site for site in roster if site in case["first"]]
        gone = [site for site in roster if site not in there]
        seeds_asked = [
            (site, 0 if other == site else 1 + [name for name in roster if name != site].index(other))
            for site in there
            for other in (site, *gone)
        ]
        assert len(case["relayed"]) >= threshold
        for step in case["relayed"]:
            assert step["payload"].startswith(bytes(site in there for site in roster).hex())
            expected = b"".join(shares[owner, number, step["site"]] for owner, number in seeds_asked)
            assert step["answer"] == expected.hex()


@pytest.mark.parametrize("name", ["ring.json", "k_secure.json", "double_mask.json", "paillier.json"])
def test_totals_are_the_exact_sums(name: str) -> None:
    content = read(name)
    for case in content if isinstance(content, list) else [content]:
        there = [numbers(vector) for site, vector in case["vectors"].items() if site in case["first"]]
        columns = zip(*there, strict=True)
        assert numbers(case["total"]) == [sum(column) % WORD for column in columns]


def test_paillier_packs_adds_and_opens() -> None:
    case = read("paillier.json")
    p, q = int(case["p"], 16), int(case["q"], 16)
    n, slots = p * q, 2047 // 72
    assert gcd(p - 1, q - 1) == 2
    opened = [0, 0]
    for site, words in case["vectors"].items():
        values = [(word + 2**63) % WORD for word in numbers(words)]
        packed = [
            sum(value << (72 * slot) for slot, value in enumerate(values[start : start + slots]))
            for start in range(0, len(values), slots)
        ]
        assert [int(text, 16) for text in case["plaintexts"][site]] == packed
        ciphertexts = b"".join((1 + plain * n).to_bytes(512, "big") for plain in packed)
        assert joined(n.to_bytes(256, "big"), ciphertexts).hex() == case["first"][site]
        opened = [total + plain for total, plain in zip(opened, packed, strict=True)]
    product = b"".join((1 + plain * n).to_bytes(512, "big") for plain in opened)
    assert case["relayed"][0]["payload"] == joined(n.to_bytes(256, "big"), product).hex()


def test_fixed_point_rounds_as_described() -> None:
    for case in read("fixed_point.json"):
        for values, words in zip(case["values"], case["words"], strict=True):
            if case["bound"] is not None:
                scale = Fraction(2) ** case["exponent"]
                assert case["sites"] * Fraction(case["bound"]) * scale <= 2**62
                exact = [round(Fraction(value) * scale) % WORD for value in values]
            else:
                exact = limbs(values)
            assert numbers(words) == exact


def limbs(values: list[float]) -> list[int]:
    """Return five limbs of 52 bits of each value times 2**140, the highest of all values first."""
    found: list[list[int]] = []
    for value in values:
        whole = round(abs(Fraction(value)) * 2**140)
        sign = -1 if value < 0 else 1
        found.append([sign * (whole >> (52 * place) & (2**52 - 1)) % WORD for place in range(4, -1, -1)])
    return [limb for place in zip(*found, strict=True) for limb in place]
