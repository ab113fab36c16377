"""Writes the known answers of the secure sums: ``python tests/vectors/generate.py``.

The answers are from this project's code, and README.md says what each field is. Nothing here is random: keys
are fixed, and what a protocol would draw comes from a stream that is fixed and written down.
"""

import hashlib
import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gmpy2
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.contract import Member, SumRound, Words
from flower_pansvm.secure_sum.decoding import decode
from flower_pansvm.secure_sum.fixed_point import encode, scale_exponent
from flower_pansvm.secure_sum.identities import RunKeys, sign
from flower_pansvm.secure_sum.keys import apply_mask, keystream, pair_key, seal, sum_context, sum_key
from flower_pansvm.secure_sum.mask_graph import partners, public_order
from flower_pansvm.secure_sum.new_identity import public_identity
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.secure_sum.rehearsal import Rehearsal
from flower_pansvm.secure_sum.tags import join_fields
from flower_pansvm.secure_sum.wire import to_bytes
from flower_pansvm.summing import keys_digest

FOLDER = Path(__file__).parent
NAMES = ("a", "b", "c", "d", "é")
EXTREMES = (0, 1, 2**63 - 1, 2**63, 2**64 - 1)


def main() -> None:
    """Write all files."""
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def files() -> dict[str, str]:
    """Return the text of each file by its name."""
    found = {
        "wire.json": wire(),
        "keys.json": key_derivation(),
        "orders.json": orders(),
        "fixed_point.json": fixed_point(),
        "ring.json": [transcript(name, {}, 4) for name in ("ring", "ring-hops")],
        "k_secure.json": [
            *(transcript("k-secure", k, 5) for k in ({"k": 2}, {"k": 3}, {})),
            transcript("k-secure-hops", {"k": 3}, 4),
        ],
        "double_mask.json": [
            transcript("double-mask", {}, 4),
            transcript("double-mask", {"share_threshold": "half"}, 5, lost="b", silent="d"),
        ],
        "paillier.json": paillier(),
    }
    return {name: json.dumps(content, indent=1, ensure_ascii=False) + "\n" for name, content in found.items()}


def wire() -> dict[str, Any]:
    """Return tags, fields, sums and words as bytes, and what a site's identity signs."""
    fields = [[], [b""], [b"ab", b"c"], [b"a", b"bc"], ["é".encode(), bytes(3)]]
    published = {"b": bytes([2] * 32), "a": bytes([1] * 32) + b"more"}
    identity = Ed25519PrivateKey.from_private_bytes(fixed("identity", 32))
    keys = RunKeys("run-1", "a", published["a"][:32], b"more", bytes([3] * 32))
    return {
        "tags": {name: tag.decode() for name, tag in vars(tags).items() if isinstance(tag, bytes)},
        "fields": [
            {"fields": [field.hex() for field in case], "joined": join_fields(*case).hex()} for case in fields
        ],
        "sums": [
            {"sum": written(this), "context": sum_context(this).hex()}
            for this in (a_sum(3), a_sum(5, round_trip=300, attempt=2, keys="00ff"))
        ],
        "keys_digest": {
            "published": {name: value.hex() for name, value in published.items()},
            "digest": keys_digest(published),
        },
        "words": {
            "words": words(np.array(EXTREMES, np.uint64)),
            "bytes": to_bytes(np.array(EXTREMES, np.uint64)).hex(),
        },
        "run_keys": {
            **{name: value if isinstance(value, str) else value.hex() for name, value in vars(keys).items()},
            "signed_bytes": keys.signed_bytes().hex(),
            "identity_private": identity.private_bytes_raw().hex(),
            "identity_public": public_identity(identity),
            "signature": sign(identity, keys).hex(),
        },
    }


def key_derivation() -> dict[str, Any]:
    """Return keys of pairs and sums, the masks made from them, streams, and a sealed note."""
    members = members_of(NAMES[:3])
    note = b"a note"
    with drawn() as random:
        sealed = seal(members["a"], "b", a_sum(3), "ring hop", note)
    return {
        "masks": [
            mask("three sites", "site-1", "site-2", ("11" * 32, "22" * 32), a_sum(3, "site-1 site-2 site-3")),
            mask(
                "names beyond ASCII, a later attempt",
                *("Zürich", "São Paulo"),
                (bytes(range(32)).hex(), bytes(range(32, 64)).hex()),
                SumRound("5f3a", "scaling", 17, 2, ("São Paulo", "Zürich")),
            ),
        ],
        "streams": [
            {"key": key.hex(), "stream": words(keystream(key, 5))}
            for key in (bytes(range(32)), fixed("stream", 32))
        ],
        "notes": [
            {
                "sum": written(a_sum(3)),
                "private_keys": private_keys(members),
                "sender": "a",
                "receiver": "b",
                "purpose": "ring hop",
                "random": random,
                "note": note.hex(),
                "sealed": sealed.hex(),
            }
        ],
    }


def mask(about: str, sender: str, receiver: str, privates: tuple[str, str], this: SumRound) -> dict[str, Any]:
    """Return the keys and the mask of one direction between two sites."""
    keys = {
        name: X25519PrivateKey.from_private_bytes(bytes.fromhex(private))
        for name, private in zip((sender, receiver), privates, strict=True)
    }
    member = Member(sender, keys[sender], {receiver: keys[receiver].public_key().public_bytes_raw()})
    key = pair_key(member, this.run, sender, receiver, "mask")
    vector = np.zeros(4, np.uint64)
    apply_mask(vector, this, member, giver=sender, taker=receiver)
    return {
        "about": about,
        "sender": sender,
        "receiver": receiver,
        "sender_private": privates[0],
        "receiver_private": privates[1],
        "sum": written(this),
        "pair_key": key.hex(),
        "sum_key": sum_key(key, this).hex(),
        "mask": words(vector),
    }


def orders() -> list[dict[str, Any]]:
    """Return orders drawn from the keys of a run, and who shares masks with whom."""
    return [
        {
            "sum": written(this),
            "orders": {label: public_order(this, label) for label in ("mask graph", "segments", "pass 0")},
            "partners": {str(k): {name: partners(this, name, k) for name in this.roster} for k in (2, 3, 4)},
        }
        for this in (a_sum(sites, keys=keys) for sites, keys in ((3, "00ff"), (5, "00ff"), (5, "5a")))
    ]


def fixed_point() -> list[dict[str, Any]]:
    """Return values of each site as words, and their sum back as values."""
    cases: list[tuple[float | None, list[list[float]]]] = [
        (1.0, [[0.0, 1.0, -1.0, 1 / 3], [0.0, 1.0, -1.0, 1 / 7], [-0.0, 1.0, 0.1, 1e-19]]),
        (2.5e6, [[2.5e6, -1.0], [-2.5e6, 0.3]]),
        (
            None,
            [[0.0, 1.0, -1.5, 1e30, 1e-30], [0.1, -1.0, 1 / 3, 1.0, 2.0**-140], [3.0, 0.0, 1e9, -1e30, 0.0]],
        ),
    ]
    found = []
    for bound, values in cases:
        sites = len(values)
        encoded = [encode(np.array(of_site), bound, sites) for of_site in values]
        total = np.sum(encoded, axis=0, dtype=np.uint64)
        found.append(
            {
                "bound": bound,
                "sites": sites,
                "exponent": None if bound is None else scale_exponent(bound, sites),
                "values": values,
                "words": [words(of_site) for of_site in encoded],
                "total": words(total),
                "sum": decode(total, (len(values[0]),), bound, sites).tolist(),
            }
        )
    return found


def transcript(
    name: str, options: dict[str, Any], sites: int, lost: str = "", silent: str = ""
) -> dict[str, Any]:
    """Return all messages of a sum by a protocol that masks; sites drop out before they send a vector, or after."""
    roster = NAMES[:sites]
    this, members = a_sum(sites), members_of(roster)
    vectors = vectors_of(roster, 6)
    rehearsal = Rehearsal(PROTOCOLS[name](**options), members, silent=frozenset(silent))
    with drawn() as random:
        rehearsal.give(vectors, this)
        for site in lost:
            del rehearsal.first[site]
        total = rehearsal.take(this)
    return {
        "aggregation": name,
        **options,
        "sum": written(this),
        "private_keys": private_keys(members),
        **messages(rehearsal, vectors, total),
        "random": random,
    }


def paillier() -> dict[str, Any]:
    """Return a sum under a fixed key, packed and encrypted but with 1 as every blinding factor."""
    roster = NAMES[:3]
    protocol = PROTOCOLS["paillier"](key_bits=2048)
    p, q = prime("p"), prime("q")
    key = (join_fields(p.to_bytes(128, "big"), q.to_bytes(128, "big")), (p * q).to_bytes(256, "big"))
    members = {
        name: Member(name, member.key, member.peers, key[0], dict.fromkeys(roster, key[1]))
        for name, member in members_of(roster).items()
    }
    vectors = vectors_of(roster, 30)
    rehearsal = Rehearsal(protocol, members)
    unblinded = "flower_pansvm.secure_sum.protocols.paillier.Blinding.blind"
    with patch(unblinded, lambda self, ciphertext: ciphertext):
        total = rehearsal.run(vectors, a_sum(3))
    width, start = 512, 8 + 256 + 8
    plaintexts = {
        name: [
            format((int.from_bytes(payload[place : place + width], "big") - 1) // (p * q), "x")
            for place in range(start, len(payload), width)
        ]
        for name, payload in rehearsal.first.items()
    }
    return {
        "aggregation": "paillier",
        "bits": 2048,
        "p": format(p, "x"),
        "q": format(q, "x"),
        "sum": written(a_sum(3)),
        "plaintexts": plaintexts,
        **messages(rehearsal, vectors, total),
    }


def messages(rehearsal: Rehearsal, vectors: Mapping[str, Words], total: Words) -> dict[str, Any]:
    """Return the vectors, what passed through the coordinator, and the sum."""
    return {
        "vectors": {name: words(vector) for name, vector in vectors.items()},
        "first": {name: payload.hex() for name, payload in rehearsal.first.items()},
        "relayed": [
            {"step": step, "site": site, "payload": payload.hex(), "answer": answer.hex()}
            for step, site, payload, answer in rehearsal.relayed
        ],
        "total": words(total),
    }


def a_sum(sites: int, roster: str = " ".join(NAMES), **changes: Any) -> SumRound:
    """Return the label of a sum."""
    usual = {"run": "run-1", "task": "landmarks", "round_trip": 1, "attempt": 0, "keys": "5a" * 32}
    return SumRound(**{**usual, "roster": tuple(roster.split()[:sites]), **changes})


def written(this: SumRound) -> dict[str, Any]:
    """Return the label of a sum as it stands in the files."""
    return {**vars(this), "roster": list(this.roster)}


def members_of(roster: tuple[str, ...]) -> dict[str, Member]:
    """Return sites with fixed keys."""
    keys = {name: X25519PrivateKey.from_private_bytes(fixed(f"key of {name}", 32)) for name in roster}
    publics = {name: key.public_key().public_bytes_raw() for name, key in keys.items()}
    return {
        name: Member(name, keys[name], {peer: publics[peer] for peer in roster if peer != name})
        for name in roster
    }


def private_keys(members: Mapping[str, Member]) -> dict[str, str]:
    """Return the private keys of the sites."""
    return {name: member.key.private_bytes_raw().hex() for name, member in members.items()}


def vectors_of(roster: tuple[str, ...], size: int) -> dict[str, Words]:
    """Return a fixed vector for each site; the last words are extreme."""
    found = {}
    for name in roster:
        vector = np.frombuffer(fixed(f"vector of {name}", 8 * size), "<u8").astype(np.uint64)
        vector[-len(EXTREMES) :] = EXTREMES
        found[name] = vector
    return found


def words(vector: Words) -> list[str]:
    """Return words as 16 hexadecimal digits each."""
    return [f"{word:016x}" for word in vector.tolist()]


def fixed(about: str, size: int) -> bytes:
    """Return bytes that look random and are always the same."""
    return hashlib.shake_256(about.encode()).digest(size)


def prime(about: str) -> int:
    """Return a fixed prime of 1024 bits that is 3 mod 4, its two highest bits set."""
    found = gmpy2.mpz(int.from_bytes(fixed(about, 128), "big") | 3 << 1022)
    while True:
        found = gmpy2.next_prime(found)
        if found % 4 == 3:
            return int(found)


@contextmanager
def drawn() -> Iterator[list[str]]:
    """Replace this thread's random generator by a fixed stream; yield what was drawn, in order."""
    taken: list[str] = []
    own, of_others = threading.get_ident(), secrets.token_bytes

    def draw(size: int) -> bytes:
        if threading.get_ident() != own:  # such as a server's that another test has left
            return of_others(size)
        taken.append(fixed(f"draw {len(taken)}", size).hex())
        return bytes.fromhex(taken[-1])

    with patch("secrets.token_bytes", draw):
        yield taken


if __name__ == "__main__":
    main()
