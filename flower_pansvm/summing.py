"""The messages of every secure sum: its name, the sites' keys, and the protocol's payloads."""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self, cast

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from flower_pansvm.errors import NOT_FOLLOWED, SumError
from flower_pansvm.records import Octets, Texts, Values
from flower_pansvm.secure_sum.contract import Member
from flower_pansvm.secure_sum.tags import join_fields
from flower_pansvm.tasks import Nothing, Task

LENGTH_BYTES = 2  # of the length of a part of a site's keys
EPOCH_BYTES = 32  # of each of a site's epochs


@dataclass(frozen=True)
class WhichSum:
    """The sum that a request is about; see :class:`flower_pansvm.secure_sum.contract.SumRound`."""

    task: str
    round_trip: int
    attempt: int
    left_out: Texts  # sites that have dropped out of the run; mostly none, so that it is short


@dataclass(frozen=True)
class PublicKeys:
    """The public keys of a site in a run."""

    public_key: bytes  # raw X25519 key
    published: bytes  # the protocol's own public half, empty for most
    epochs: bytes  # of its ledger, see clients/ledger/epochs.py; empty unless the run is private
    signature: bytes  # of the site's identity on all three, empty without one


@dataclass(frozen=True)
class AllKeys:
    """The public keys of all sites of a run, dropped ones included. They go with the first sum, and sites keep them."""

    sites: Texts  # in ring order
    octets: Octets  # the parts of each site's PublicKeys, one after another, each with its length in front

    @classmethod
    def of(cls, public: Mapping[str, PublicKeys]) -> Self:
        """Put together the public keys of each site, by name."""
        parts = [getattr(keys, field.name) for keys in public.values() for field in fields(keys)]
        octets = b"".join(len(field).to_bytes(LENGTH_BYTES, "big") + field for field in parts)
        return cls(tuple(public), np.frombuffer(octets, dtype=np.uint8))

    def by_site(self) -> dict[str, PublicKeys]:
        """Return the public keys of each site; SumError if the parts do not fit together."""
        octets = io.BytesIO(self.octets.tobytes())

        def next_part() -> bytes:
            return octets.read(int.from_bytes(octets.read(LENGTH_BYTES), "big"))

        public = {site: PublicKeys(*(next_part() for _ in fields(PublicKeys))) for site in self.sites}
        # Parts that end too early give other bytes than those that came.
        if len(public) != len(self.sites) or not np.array_equal(self.of(public).octets, self.octets):
            raise SumError(f"The keys that the coordinator hands out do not fit the sites. {NOT_FOLLOWED}")
        return public


def as_bytes(public: Mapping[str, PublicKeys]) -> dict[str, bytes]:
    """Return the sites' public keys, by name, without the signatures: part of a sum's name."""
    return {name: keys.public_key + keys.published for name, keys in public.items()}


def keys_digest(published: Mapping[str, bytes]) -> str:
    """Return a digest of the keys that all sites published as they joined the run, dropped sites included.

    ``published`` holds each site's X25519 public key and the public half of `SecureSum.prepare`, by name.
    """
    parts = [field for name, keys in sorted(published.items()) for field in (name.encode(), keys)]
    return hashlib.sha256(join_fields(*parts)).hexdigest()


def signed_member(
    name: str, run: str, private: Values, roster: str, public: Mapping[str, PublicKeys]
) -> Member:
    """Return a site's keys of a run together with the other sites' public ones.

    ``private`` maps ``private`` to its X25519 key and ``secret`` to that of `SecureSum.prepare`. ``roster`` is the path
    of the file with all sites' identities, empty if the site trusts unsigned keys. ``public`` has each site's public
    keys, as the coordinator relays them; SumError if the roster file does not confirm a signature.
    """
    if roster:
        from flower_pansvm.secure_sum.identities import RunKeys, read_roster, verify  # noqa: PLC0415 - others need none

        trusted = read_roster(Path(roster))
        for peer, keys in public.items():
            verify(trusted, RunKeys(run, peer, keys.public_key, keys.published, keys.epochs), keys.signature)
    return Member(
        name=name,
        key=X25519PrivateKey.from_private_bytes(cast(bytes, private["private"])),
        peers={peer: keys.public_key for peer, keys in public.items() if peer != name},
        secret=cast(bytes, private["secret"]),
        published={peer: keys.published for peer, keys in public.items()},
    )


@dataclass(frozen=True)
class Payload:
    """A protocol's answer: masked or encrypted words."""

    payload: Octets


@dataclass(frozen=True)
class RelayStep:
    """A step of a protocol that takes several, and the ciphertext from the site before."""

    step: int
    payload: bytes


RELAY = Task("relay", "train", Nothing, Nothing)
"""A step of a secure sum that takes several: ciphertext from one site on its way to another, or to be opened. It has no
answer of its own but the protocol's."""
