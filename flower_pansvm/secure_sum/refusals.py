"""What a site refuses to take part in, from what it remembers of the run.

The coordinator decides which sums are made, so each site checks for itself that no sum is asked for in a
way that would give its vector away: twice under the same masks, among too few sites, in another order of the
sites, or with another site's key exchanged on the way.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound


@dataclass(frozen=True)
class Memory:
    """What a site remembers of a run's sums; changed by :func:`admit` only.

    Parameters
    ----------
    run : str
        Identifies the run.
    round_trip, attempt : int
        The last sum that this site took part in; 0 and 0 before the first.
    roster : tuple of str
        The sites of that sum.
    keys : mapping of str to str
        What each site of the run has published, hexadecimal, as it was handed out with the first sum.
    settings : str
        Digest of the settings that the site joined the run with.
    """

    run: str
    round_trip: int = 0
    attempt: int = 0
    roster: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""

    def to_json(self) -> str:
        """Return the memory as text, to be kept in the site's state."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Memory":
        """Return the memory that :meth:`to_json` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "roster": tuple(fields["roster"])})


def admit(
    memory: Memory, this: SumRound, site: str, published: Mapping[str, bytes], min_sites: int
) -> Memory:
    """Return the site's new memory if it may take part in a sum.

    Parameters
    ----------
    memory : Memory
        What the site remembers so far; for a new run ``Memory(run)``.
    this : SumRound
        The sum that is asked for.
    site : str
        Name of the site that is asked.
    published : mapping of str to bytes
        All that each site published when it joined (its X25519 public key, then what its protocol added),
        by name, as the coordinator hands it out now.
    min_sites : int
        Smallest number of sites this site agrees to be added up with, itself included.

    Raises
    ------
    SumError
        If the sum is of another run, was asked for before, has too few sites, sites that an earlier one was without,
        another order of them than by name, does not name this site, or comes with other keys than the first one.
    """
    _refuse_if(
        this.run != memory.run,
        site,
        "the sum belongs to another run than this site's keys",
        "Start a new run, in which all sites join again.",
    )
    _refuse_if(
        site not in this.roster,
        site,
        "the roster does not name this site",
        "The coordinator's list of sites is out of date; start the run again.",
    )
    _refuse_if(
        len(this.roster) < min_sites,
        site,
        f"the roster has {len(this.roster)} sites and this site asks for at least {min_sites}",
        "Wait until more sites are back, or lower min-sites if all hospitals agree.",
    )
    _refuse_if(
        (this.round_trip, this.attempt) <= (memory.round_trip, memory.attempt),
        site,
        f"round trip {this.round_trip}, attempt {this.attempt} was answered or passed over already",
        "A message was repeated; ask again under a new attempt.",
    )
    _refuse_if(
        list(this.roster) != sorted(this.roster),
        site,
        "the roster is not sorted by name",
        "Neighbours and slots follow from the order of the sites, which is nobody's choice. Does the coordinator run "
        "the same version?",
    )
    _refuse_if(
        bool(memory.roster) and not set(this.roster) <= set(memory.roster),
        site,
        "the roster has gained a site since the last sum",
        "A site that was left out stays out for the rest of the run. Start a new run with all sites.",
    )
    for name in this.roster:
        _refuse_if(
            name not in published,
            site,
            f"the coordinator handed out no keys of site {name!r}",
            "All sites must join before the first sum; start the run again.",
        )
    keys = {name: value.hex() for name, value in sorted(published.items())}
    for name in {**keys, **memory.keys} if memory.keys else ():
        _refuse_if(
            memory.keys.get(name) != keys.get(name),
            site,
            f"the keys of site {name!r} are not the ones handed out with the run's first sum",
            "Someone exchanged them, or that site started anew. Start a new run; a roster file tells which.",
        )
    return replace(memory, round_trip=this.round_trip, attempt=this.attempt, roster=this.roster, keys=keys)


def _refuse_if(condition: bool, site: str, reason: str, remedy: str) -> None:
    if condition:
        raise SumError(f"Site {site!r} refuses the secure sum: {reason}. {remedy}")
