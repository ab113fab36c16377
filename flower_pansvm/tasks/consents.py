"""The levels, and what a hospital can agree to disclose besides, by keys of its node config."""

from dataclasses import dataclass

from flower_pansvm.registry import Registry


@dataclass(frozen=True)
class Consent:
    """Something about its rows that a hospital gives away only if it has agreed to."""

    discloses: str  # what is given away, for error texts
    instead: str  # settings of a run that does without


AGREED = "agreed"  # the only value of such a key

LEVELS = ("exact", "perturbed", "dp")
"""From the weakest to the strongest: sums over the true records, sums over their perturbed copies, sums of the true
records with noise for differential privacy, which are charged to the hospital's ledger."""

CONSENTS: Registry[Consent] = Registry("consent")
"""All of them, by key; one that belongs to a task enters itself beside it."""
