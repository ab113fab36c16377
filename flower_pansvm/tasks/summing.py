"""What goes with every secure sum: which one it is, whose keys are in it, and what the protocol itself sends."""

from dataclasses import dataclass

from flower_pansvm.records import Octets, Texts
from flower_pansvm.tasks.task import Nothing, Task


@dataclass(frozen=True)
class WhichSum:
    """The sum that a request is about; see :class:`flower_pansvm.secure_sum.contract.SumRound`."""

    task: str
    round_trip: int
    attempt: int
    roster: Texts


@dataclass(frozen=True)
class PublicKeys:
    """What a site has published of its keys for a run."""

    public_key: bytes  # raw X25519 key
    published: bytes  # the protocol's own public half, empty for most
    signature: bytes  # of the site's identity on both, empty without one


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
