"""What a hospital can agree to disclose: each is a key of the node config, and agreed to by the word ``agreed``."""

from dataclasses import dataclass

from flower_pansvm.registry import Registry


@dataclass(frozen=True)
class Consent:
    """Something about its rows that a hospital gives away only if it has agreed to."""

    discloses: str  # what is given away, for error texts
    instead: str  # settings of a run that does without


AGREED = "agreed"  # the only value of such a key

CONSENTS: Registry[Consent] = Registry("consent")
"""All of them, by key; one that belongs to a task enters itself beside it."""

CONSENTS.register("exact-sums")(
    Consent("sums without noise, from which most rows of a small table follow", "preset=private")
)
