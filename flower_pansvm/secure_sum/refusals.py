"""What a site refuses to take part in, from what it remembers of the run.

The coordinator decides which sums are made, so each site checks for itself that no sum is asked for in a
way that would give its vector away: twice under the same masks, among too few sites, in another order of the
sites, or with another site's key exchanged on the way.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound


@dataclass(frozen=True)
class Memory:
    """What a site remembers of a run's sums; changed by :func:`admit` only."""

    run: str
    round_trip: int = 0  # this and the next two: the last sum that this site took part in
    attempt: int = 0
    roster: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)  # what each site has published, as first handed out
    settings: str = ""  # digest of the settings that the site joined the run with
    least: int = 0  # fewest sites over which it helps to open the last sum
    opened: int = (
        0  # the last round trip of which it has helped to open a sum over those that had not dropped out
    )

    def to_json(self) -> str:
        """Return the memory as text, to be kept in the site's state."""
        return json.dumps(vars(self))

    @classmethod
    def from_json(cls, text: str) -> "Memory":
        """Return the memory that :meth:`to_json` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "roster": tuple(fields["roster"])})


def admit(
    memory: Memory, this: SumRound, site: str, published: Mapping[str, bytes], min_sites: int
) -> Memory:
    """Return the site's new memory if it may take part in a sum.

    ``published`` is all that each site published when it joined (its X25519 public key, then what its protocol added),
    by name, as the coordinator hands it out now; ``min_sites`` the smallest number of sites that this one agrees to be
    added up with, itself included.
    """
    keys = {name: value.hex() for name, value in sorted(published.items())}
    known = memory.keys or keys
    unpublished = [name for name in this.roster if name not in published]
    exchanged = [name for name in {**keys, **known} if known.get(name) != keys.get(name)]
    refusals = (
        (
            this.run != memory.run,
            "the sum belongs to another run than this site's keys",
            "Start a new run, in which all sites join again.",
        ),
        (
            site not in this.roster,
            "the roster does not name this site",
            "The coordinator's list of sites is out of date; start the run again.",
        ),
        (
            len(this.roster) < min_sites,
            f"the roster has {len(this.roster)} sites and this site asks for at least {min_sites}",
            "Wait until more sites are back, or lower min-sites if all hospitals agree.",
        ),
        (
            (this.round_trip, this.attempt) <= (memory.round_trip, memory.attempt),
            f"round trip {this.round_trip}, attempt {this.attempt} was answered or passed over already",
            "A message was repeated; ask again under a new attempt.",
        ),
        (
            this.round_trip == memory.opened,
            f"it has helped to open the sum of round trip {this.round_trip}",
            "The difference of that sum and another one would be a site's own numbers. Ask for another round trip.",
        ),
        (
            list(this.roster) != sorted(this.roster),
            "the roster is not sorted by name",
            "Neighbours and slots follow from the order of the sites, which is nobody's choice. Does the coordinator "
            "run the same version?",
        ),
        (
            bool(memory.roster) and not set(this.roster) <= set(memory.roster),
            "the roster has gained a site since the last sum",
            "A site that was left out stays out for the rest of the run. Start a new run with all sites.",
        ),
        (
            bool(unpublished),
            f"the coordinator handed out no keys of site {', '.join(map(repr, unpublished))}",
            "All sites must join before the first sum; start the run again.",
        ),
        (
            bool(exchanged),
            f"the keys of site {', '.join(map(repr, exchanged))} are not the ones handed out with the run's first sum",
            "Someone exchanged them, or that site started anew. Start a new run; a roster file tells which.",
        ),
    )
    for refused, reason, remedy in refusals:
        if refused:
            raise SumError(f"Site {site!r} refuses the secure sum: {reason}. {remedy}")
    return replace(
        memory,
        round_trip=this.round_trip,
        attempt=this.attempt,
        roster=this.roster,
        keys=keys,
        least=min_sites,
    )


def admit_opening(memory: Memory, this: SumRound, site: str, over: tuple[str, ...]) -> Memory:
    """Return the site's new memory if it may help to open the last sum over these sites, others having dropped out."""
    if len(over) < memory.least:
        raise SumError(
            f"Site {site!r} refuses to open a sum over {len(over)} sites: it asks for at least {memory.least}. Wait "
            "until more sites are back, or lower min-sites if all hospitals agree."
        )
    return replace(memory, opened=this.round_trip)
