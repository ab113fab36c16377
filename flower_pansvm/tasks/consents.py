"""What a hospital is promised of an answer, and what it can agree to besides, by keys of its node config."""

from dataclasses import dataclass
from typing import Literal

from flower_pansvm.registry import Registry


@dataclass(frozen=True)
class Consent:
    """Something about its rows that a hospital gives away only if it has agreed to."""

    discloses: str  # what is given away, for error texts
    instead: str  # settings of a run that does without


AGREED = "agreed"  # the only value of such a key

Promise = Literal["charged", "defended", "exact", "simulated"]
"""What a hospital is promised of an answer: *charged*, differential privacy, counted in its ledger; *defended*, secret
noise in the sums that rows could be computed from, which is a measurement and no proof; *exact*, nothing; or
*simulated*, that no hospital gives it, whatever it agrees to.
"""

EXACT_SUMS = "exact-sums"
AGREEMENTS: dict[str, tuple[Promise, ...]] = {"defended": ("defended",), AGREED: ("defended", "exact")}
"""What a hospital takes part in by what its node config says for ``exact-sums``, besides answers that are charged."""

CONSENTS: Registry[Consent] = Registry("consent")
"""All of them, by key; one that belongs to a task enters itself beside it."""
