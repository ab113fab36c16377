"""What goes with every secure sum: which one it is, whose keys are in it, and what the protocol itself sends."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from flower_pansvm.arrays import Ints
from flower_pansvm.errors import NOT_FOLLOWED, SumError
from flower_pansvm.records import Octets, Texts
from flower_pansvm.tasks.task import Nothing, Task


@dataclass(frozen=True)
class WhichSum:
    """The sum that a request is about; see :class:`flower_pansvm.secure_sum.contract.SumRound`."""

    task: str
    round_trip: int
    attempt: int
    left_out: Texts  # sites that have joined and take no part any more; mostly none, so that it is short


@dataclass(frozen=True)
class PublicKeys:
    """What a site has published of its keys for a run."""

    public_key: bytes  # raw X25519 key
    published: bytes  # the protocol's own public half, empty for most
    signature: bytes  # of the site's identity on both, empty without one


@dataclass(frozen=True)
class AllKeys:
    """What all sites of a run have published, lost ones included. It goes with the first sum, and sites keep it."""

    sites: Texts  # in ring order
    lengths: Ints  # (sites, 3): of the parts of each site's PublicKeys
    octets: Octets  # the parts, one after another

    @classmethod
    def of(cls, public: Mapping[str, PublicKeys]) -> Self:
        """Put together what each site, by name, has published."""
        parts = [[getattr(keys, part.name) for part in fields(keys)] for keys in public.values()]
        lengths = np.array([list(map(len, own)) for own in parts], dtype=np.int64)
        octets = np.frombuffer(b"".join(part for own in parts for part in own), dtype=np.uint8)
        return cls(tuple(public), lengths, octets)

    def by_site(self) -> dict[str, PublicKeys]:
        """Return what each site has published; SumError if the parts do not fit together."""
        sites, lengths = self.sites, self.lengths
        fitting = lengths.shape == (len(sites), len(fields(PublicKeys))) and (lengths >= 0).all()
        # Compared as Python's numbers, which cannot overflow.
        if not fitting or sum(lengths.ravel().tolist()) != self.octets.size or len(set(sites)) != len(sites):
            raise SumError(f"The keys that the coordinator hands out do not fit the sites. {NOT_FOLLOWED}")
        octets, ends = self.octets.tobytes(), lengths.cumsum().reshape(lengths.shape)
        starts = ends - lengths
        return {
            site: PublicKeys(*(octets[start:end] for start, end in zip(*places, strict=True)))
            for site, *places in zip(sites, starts.tolist(), ends.tolist(), strict=True)
        }


@dataclass(frozen=True)
class Payload:
    """What a site's protocol answers: masked or encrypted words."""

    payload: Octets


@dataclass(frozen=True)
class RelayStep:
    """A step of a protocol that takes several, and the ciphertext from the site before."""

    step: int
    payload: bytes


RELAY = Task("relay", "train", Nothing, Nothing, since="0.1.0")
"""A step of a secure sum that takes several: ciphertext from one site on its way to another, or to be opened. It has no
answer of its own but the protocol's."""
