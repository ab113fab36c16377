"""The sum under Paillier's additively homomorphic encryption (Eurocrypt 1999).

The first site of the roster holds the secret key. All sites encrypt under its public key, the coordinator
multiplies the ciphertexts, which adds the plaintexts, and only this product goes to the key holder.

Packing: a plaintext carries as many words as fit in slots of nine bytes: the word plus 2**63 and eight guard
bits, so that the sum over up to 256 sites never runs into the next slot. (Adding 2**63 makes negative
numbers positive; without it the guard bits would tell the key holder how many sites hold a negative one.)

Blinding: a ciphertext needs a random n-th power as blinding factor, and making one costs nearly all the
time. As in Damgård, Jurik and Nielsen (2010), Int. J. Inf. Security 9, one such power, of ``-x**2`` for a
random x, is raised to random exponents of half the length of n, where n = pq with p = q = 3 mod 4 and
gcd(p - 1, q - 1) = 2. This is as secure as Paillier's own choice as long as short exponents cannot be told
from full ones, and Goldreich and Rosen (2003), J. Cryptology 16, show that to be as hard as factoring n.
The powers of the base are prepared ahead, once per key and process, so that with 3072 bits a blinding factor
is a product of 256 prepared numbers.

What it rests on: the key holder proves nothing of its key. It can publish a number that others can factor, and then the
coordinator reads every site's vector; only keys that give themselves away at once (a prime, a power, a small factor)
are refused. And the key holder opens any ciphertexts: a coordinator that does not follow the protocol gives it one
site's ciphertexts, or those of several sites in one plaintext, instead of their product. So a hospital takes part only
if its node config says so.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import ClassVar

import numpy as np

from flower_pansvm.errors import SettingError, SumError, install
from flower_pansvm.secure_sum.contract import Member, Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.step_state import load_step_state, save_step_state
from flower_pansvm.secure_sum.tags import join_fields
from flower_pansvm.secure_sum.wire import check_roster, from_bytes, to_bytes

try:
    import gmpy2
    from phe.paillier import PaillierPrivateKey, PaillierPublicKey
except ImportError as error:
    raise SettingError(
        "The secure sum 'paillier' needs the packages phe and gmpy2, and one is missing. "
        f"Install them {install('paillier')}."
    ) from error

OPEN = 1  # the relay step in which the key holder opens the sum
SLOT_BYTES = 9
MOST_SITES = 256
BIAS = np.uint64(2**63)
WINDOW_BITS = 6
SMALL = 2**16  # no prime factor of a key may be smaller


@dataclass(frozen=True)
class Paillier(SecureSum):
    """The sum under Paillier encryption."""

    # Length of the public key n in bits, a multiple of 16. All sites of a run have the default; shorter keys are quick,
    # and below 2048 bits they can be broken.
    key_bits: int = 3072

    name: ClassVar[str] = "paillier"
    protected: ClassVar[bool] = True
    by_consent: ClassVar[bool] = True

    @property
    def slots(self) -> int:
        """Number of words in a plaintext."""
        return (self.key_bits - 1) // (8 * SLOT_BYTES)

    def prepare(self) -> tuple[bytes, bytes]:
        """Return a new key pair, ``p`` and ``q`` secret and ``n = p * q`` public; run by each site.

        Every site makes one, since the next in the roster takes over when the key holder drops out.
        """
        half = self.key_bits // 2
        p, q = _prime(half), _prime(half)
        while p == q or gcd(p - 1, q - 1) != 2:
            q = _prime(half)
        return (
            join_fields(p.to_bytes(half // 8, "big"), q.to_bytes(half // 8, "big")),
            (p * q).to_bytes(self.key_bits // 8, "big"),
        )

    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return the vector, packed and encrypted for the key holder; run by each site."""
        sum_round.neighbours(member.name)
        if len(sum_round.roster) > MOST_SITES:
            raise SumError(f"Paillier sums have room for {MOST_SITES} sites. Use ring or k-secure for more.")
        holder = sum_round.roster[0]
        n = self._public_key(member.published.get(holder, b""), holder)
        key = PaillierPublicKey(n)
        blinding = blinding_of(n)
        ciphertexts = [
            blinding.blind(key.raw_encrypt(plaintext, r_value=1)) for plaintext in self._pack(vector)
        ]
        state = save_step_state(sum_round, OPEN, vector.size.to_bytes(8, "big"))
        return self._write(n, ciphertexts), state if member.name == holder else b""

    def respond(
        self, step: int, payload: bytes, state: bytes, sum_round: SumRound, member: Member
    ) -> tuple[bytes, bytes]:
        """Open the sum, once, and return it; run by the key holder.

        As many ciphertexts are opened as the holder's own vector took, so that no other sum can be added.
        """
        words = int.from_bytes(load_step_state(state, sum_round, step, member.name), "big")
        p, q = (int.from_bytes(half, "big") for half in split_fields(member.secret, 2, member.name))
        n, ciphertexts = self._read(payload, "the coordinator")
        if n != p * q or len(ciphertexts) != -(-words // self.slots):
            raise SumError(
                f"Site {member.name!r} refuses to open other ciphertexts than those of the sum it takes part in. "
                "The message was changed on its way; repeat the sum under a new attempt."
            )
        key = PaillierPrivateKey(PaillierPublicKey(n), p, q)
        plaintexts = [key.raw_decrypt(ciphertext) for ciphertext in ciphertexts]
        return to_bytes(self._unpack(plaintexts, words, len(sum_round.roster))), b""

    def total(self, payloads: Mapping[str, bytes], sum_round: SumRound, relay: Relay) -> Words:
        """Multiply the ciphertexts, blind the product anew and have it opened; run by the coordinator."""
        check_roster(payloads, sum_round)
        holder = sum_round.roster[0]
        n, product = self._read(payloads[holder], holder)
        square = n**2
        for name in sum_round.roster[1:]:
            other_n, ciphertexts = self._read(payloads[name], name)
            if other_n != n or len(ciphertexts) != len(product):
                raise SumError(
                    f"The vector from {name!r} is encrypted under another key than that of {holder!r} or has "
                    "another length. The sites do not work on the same task; repeat the sum."
                )
            product = [a * b % square for a, b in zip(product, ciphertexts, strict=True)]
        blinding = blinding_of(n)
        blinded = [blinding.blind(ciphertext) for ciphertext in product]
        return from_bytes(relay(OPEN, {holder: self._write(n, blinded)})[holder], holder)

    def _public_key(self, published: bytes, holder: str) -> int:
        n = int.from_bytes(published, "big")
        if n.bit_length() != self.key_bits:
            raise SumError(
                f"Site {holder!r} has no Paillier key of {self.key_bits} bits. "
                "All sites need the same setting of the key length; start the run again."
            )
        if is_weak(n):
            raise SumError(
                f"The Paillier key of site {holder!r} is no product of two large primes, so that others could decrypt "
                "the vectors. That site runs a changed program; leave it out."
            )
        return n

    def _pack(self, vector: Words) -> list[int]:
        """Return the plaintexts: ``row`` words each, every word plus 2**63 in nine bytes."""
        count = -(-vector.size // self.slots)
        rows = np.zeros((count * self.slots, SLOT_BYTES), dtype=np.uint8)
        rows[: vector.size, :8] = (vector + BIAS).astype("<u8").view(np.uint8).reshape(-1, 8)
        return [
            int.from_bytes(row.tobytes(), "little") for row in rows.reshape(count, self.slots * SLOT_BYTES)
        ]

    def _unpack(self, plaintexts: list[int], words: int, sites: int) -> Words:
        """Return the words of a sum over ``sites`` sites, modulo 2**64."""
        try:
            slots = b"".join(p.to_bytes(self.slots * SLOT_BYTES, "little") for p in plaintexts)
        except OverflowError as error:
            raise SumError(
                "The result of a Paillier sum is no sum of vectors. A ciphertext was changed on its way; "
                "repeat the sum under a new attempt."
            ) from error
        rows = np.frombuffer(slots, dtype=np.uint8).reshape(-1, SLOT_BYTES)[:words, :8]
        return from_bytes(rows.tobytes(), "the key holder") - np.uint64(sites * 2**63 % 2**64)

    def _write(self, n: int, ciphertexts: list[int]) -> bytes:
        width = self.key_bits // 4
        return join_fields(
            n.to_bytes(self.key_bits // 8, "big"),
            b"".join(ciphertext.to_bytes(width, "big") for ciphertext in ciphertexts),
        )

    def _read(self, payload: bytes, sender: str) -> tuple[int, list[int]]:
        public, joined = split_fields(payload, 2, sender)
        n = self._public_key(public, sender)
        width = self.key_bits // 4
        ciphertexts = [
            int.from_bytes(joined[start : start + width], "big") for start in range(0, len(joined), width)
        ]
        square = n**2
        if len(joined) % width or not all(0 < ciphertext < square for ciphertext in ciphertexts):
            raise SumError(
                f"The message from {sender!r} is damaged: its content is not Paillier ciphertexts. "
                "It was cut short or changed on its way; repeat the sum."
            )
        return n, ciphertexts


class Blinding:
    """Blinding factors for one public key, from powers prepared ahead.

    Parameters
    ----------
    n : int
        The public key.
    """

    def __init__(self, n: int) -> None:
        self.square = gmpy2.mpz(n) ** 2
        x = gmpy2.mpz(secrets.randbelow(n - 1) + 1)
        power = gmpy2.powmod(-x * x % n, n, self.square)
        self._windows = []
        for _ in range(-(-n.bit_length() // (2 * WINDOW_BITS))):
            window = [gmpy2.mpz(1)]
            for _ in range(2**WINDOW_BITS - 1):
                window.append(window[-1] * power % self.square)
            self._windows.append(window)
            power = window[-1] * power % self.square

    def blind(self, ciphertext: int) -> int:
        """Return another ciphertext of the same plaintext, unrelated to anyone without the secret key."""
        exponent = secrets.randbits(len(self._windows) * WINDOW_BITS)
        blinded = gmpy2.mpz(ciphertext)
        for window in self._windows:
            blinded = blinded * window[exponent % 2**WINDOW_BITS] % self.square
            exponent >>= WINDOW_BITS
        return int(blinded)


@lru_cache(maxsize=64)
def is_weak(n: int) -> bool:
    """Return whether a public key is easily factored: a prime, a power, or a multiple of a small prime.

    A key that passes is not thereby proven sound.
    """
    return bool(gmpy2.gcd(n, _small_primes()) != 1 or gmpy2.is_power(n) or gmpy2.is_prime(n))


@lru_cache(maxsize=1)
def _small_primes() -> "gmpy2.mpz":
    """Return the product of all primes up to SMALL."""
    return gmpy2.primorial(SMALL)


@lru_cache(maxsize=4)
def blinding_of(n: int) -> Blinding:
    """Return the blinding factors for a public key; the prepared powers are public, so they may be shared."""
    return Blinding(n)


def _prime(bits: int) -> int:
    """Return a random prime = 3 mod 4 whose two highest bits are set, so that a product has full length."""
    while True:
        prime = gmpy2.next_prime(secrets.randbits(bits) | 3 << (bits - 2))
        if prime % 4 == 3:
            return int(prime)


def split_fields(joined: bytes, expected: int, sender: str) -> list[bytes]:
    """Return the ``expected`` fields of `join_fields`; SumError, which names the sender, for another number of them."""
    fields = []
    start = 0
    while start < len(joined):
        end = start + 8 + int.from_bytes(joined[start : start + 8], "big")
        fields.append(joined[start + 8 : end])
        start = end
    if start != len(joined) or len(fields) != expected:
        raise SumError(
            f"The message from {sender!r} is damaged: it does not have {expected} parts. "
            "It was cut short or changed on its way; repeat the sum."
        )
    return fields
