"""Keys that two sites share, the mask streams and sealed notes made from them.

Every pair of sites agrees on a secret by X25519. From it, HKDF-SHA256 derives one key per direction and
purpose for the run, and from that one sub-key per sum. A mask sub-key makes exactly one stream; a note's
sub-key seals under a nonce drawn at random, so that a site which starts a step again after a failure
never uses a nonce twice.

All inputs of a derivation are written with their lengths in front, so that no two different inputs give
the same bytes.
"""

import secrets
from functools import lru_cache

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum import tags
from flower_pansvm.secure_sum.contract import Member, SumRound, Words

KEY_BYTES = 32
NONCE_BYTES = 12
SEAL_BYTES = NONCE_BYTES + 16  # what sealing adds to a note's length
BLOCK_WORDS = 2**14  # 128 KB, so that stream and vector meet in the processor's cache
MASK_PURPOSE = "mask"


@lru_cache(maxsize=8)
def sum_context(sum_round: SumRound) -> bytes:
    """Return the bytes that stand for one sum: run, round trip, attempt, task, roster and the keys of the run."""
    return tags.join_fields(
        sum_round.run.encode(),
        sum_round.round_trip.to_bytes(8, "big"),
        sum_round.attempt.to_bytes(8, "big"),
        sum_round.task.encode(),
        tags.join_fields(*(name.encode() for name in sum_round.roster)),
        sum_round.keys.encode(),
    )


def pair_key(member: Member, run: str, sender: str, receiver: str, purpose: str) -> bytes:
    """Return the 32-byte key from a site to another, one is ``member``, for a purpose and run; SumError without one."""
    peer = receiver if sender == member.name else sender
    if peer not in member.peers:
        raise SumError(
            f"Site {member.name!r} has no public key of site {peer!r}. "
            "The coordinator has to hand out the keys of all sites before the first sum."
        )
    publics = {member.name: member.key.public_key().public_bytes_raw(), peer: member.peers[peer]}
    try:
        shared = member.key.exchange(X25519PublicKey.from_public_bytes(member.peers[peer]))
    except ValueError as error:
        raise SumError(
            f"The public key of site {peer!r} is invalid for X25519. It was damaged or replaced on its way."
        ) from error
    names = run.encode(), sender.encode(), receiver.encode()
    info = tags.join_fields(tags.PAIR, *names, publics[sender], publics[receiver], purpose.encode())
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(shared)


def sum_key(key: bytes, sum_round: SumRound) -> bytes:
    """Return the 32-byte sub-key of ``key`` that serves for this sum only."""
    info = tags.join_fields(tags.SUM, sum_context(sum_round))
    return HKDFExpand(algorithm=SHA256(), length=KEY_BYTES, info=info).derive(key)


def add_keystream(vector: Words, subkey: bytes, *, subtract: bool = False) -> None:
    """Add a sub-key's stream to ``vector``, shape (words,), in place, or subtract it.

    The stream is AES-256 in counter mode over zeros, read as little-endian words. The counter starts at
    zero, so a sub-key must never serve for a second stream.
    """
    cipher = Cipher(algorithms.AES256(subkey), modes.CTR(bytes(16))).encryptor()
    words = min(BLOCK_WORDS, vector.size)
    zeros = bytes(8 * words)
    buffer = bytearray(8 * words + 15)  # update_into asks for one cipher block less a byte in reserve
    stream = np.frombuffer(buffer, dtype="<u8", count=words)
    for start in range(0, vector.size, BLOCK_WORDS):
        block = vector[start : start + BLOCK_WORDS]
        cipher.update_into(zeros[: 8 * block.size], buffer)
        (np.subtract if subtract else np.add)(block, stream[: block.size], out=block)


def keystream(subkey: bytes, words: int) -> Words:
    """Return the first words of a sub-key's stream, see :func:`add_keystream`."""
    stream = np.zeros(words, dtype=np.uint64)
    add_keystream(stream, subkey)
    return stream


def apply_mask(vector: Words, sum_round: SumRound, member: Member, giver: str, taker: str) -> None:
    """Apply to ``vector``, in place, the mask that two sites share in this sum.

    The giver adds it and the taker subtracts it, so it cancels in the sum of their vectors; ``member`` is either.
    """
    key = pair_key(member, sum_round.run, giver, taker, MASK_PURPOSE)
    add_keystream(vector, sum_key(key, sum_round), subtract=member.name == taker)


def seal(member: Member, receiver: str, sum_round: SumRound, purpose: str, note: bytes) -> bytes:
    """Return ``note`` encrypted for ``receiver``, in this sum and for this purpose.

    ChaCha20-Poly1305; the random nonce comes first.
    """
    cipher, associated = _note_cipher(member, member.name, receiver, sum_round, purpose)
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + cipher.encrypt(nonce, note, associated)


def unseal(member: Member, sender: str, sum_round: SumRound, purpose: str, sealed: bytes) -> bytes:
    """Return the note that ``sender`` sealed for this site, in this sum and for this purpose; else SumError."""
    cipher, associated = _note_cipher(member, sender, member.name, sum_round, purpose)
    try:
        return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated)
    except (InvalidTag, ValueError) as error:
        raise SumError(
            f"A sealed note from site {sender!r} to site {member.name!r} does not open. It was changed, cut "
            "short, or belongs to another sum. Repeat the sum; if it happens again, look for who changes it."
        ) from error


def _note_cipher(
    member: Member, sender: str, receiver: str, sum_round: SumRound, purpose: str
) -> tuple[ChaCha20Poly1305, bytes]:
    key = pair_key(member, sum_round.run, sender, receiver, f"note/{purpose}")
    ends = sender.encode(), receiver.encode()
    associated = tags.join_fields(tags.NOTE, sum_context(sum_round), *ends, purpose.encode())
    return ChaCha20Poly1305(sum_key(key, sum_round)), associated
