"""The sums in which a site refuses to take part, by its memory of the run.

The coordinator chooses the sums. So each site refuses a sum that would reveal its vector: a second one under the same
masks, among too few sites, in another order of the sites, or with another site's key exchanged on the way.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound


@dataclass(frozen=True)
class Memory:
    """What a site remembers of a run's sums; changed by :func:`admit` and :func:`admit_opening` only."""

    run: str
    round_trip: int = 0  # this and the next two: of the last sum that this site took part in
    attempt: int = 0
    roster: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)  # public keys of each site, as first handed out
    settings: str = ""  # digest of the settings that the site joined the run with
    least: int = 0  # fewest sites over which it helps to open the last sum
    # The last round trip whose sum, over the sites that had not dropped out, it helped to open.
    opened: int = 0

    def to_json(self) -> str:
        """Return the memory as text, to be kept in the site's state."""
        return json.dumps(vars(self))

    @classmethod
    def from_json(cls, text: str) -> "Memory":
        """Return the memory that :meth:`to_json` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "roster": tuple(fields["roster"])})


def admit(
    memory: Memory, sum_round: SumRound, site: str, published: Mapping[str, bytes], min_sites: int
) -> Memory:
    """Return the site's new memory if it may take part in a sum; SumError if not.

    ``published`` has each site's X25519 public key and the public half of `SecureSum.prepare`, by name, as the
    coordinator hands them out now; ``min_sites`` is the smallest number of sites, itself included, in a sum that this
    one takes part in.
    """
    keys = {name: value.hex() for name, value in sorted(published.items())}
    pinned = memory.keys or keys
    unpublished = [name for name in sum_round.roster if name not in published]
    exchanged = [name for name in {**keys, **pinned} if pinned.get(name) != keys.get(name)]
    refusals = (
        (
            sum_round.run != memory.run,
            "the sum belongs to another run than this site's keys",
            "Start a new run, in which all sites join again.",
        ),
        (
            site not in sum_round.roster,
            "the roster does not name this site",
            "The coordinator's list of sites is out of date; start the run again.",
        ),
        (
            len(sum_round.roster) < min_sites,
            f"the roster has {len(sum_round.roster)} sites and this site requires at least {min_sites}",
            "Wait until more sites are back, or lower min-sites if all hospitals agree.",
        ),
        (
            (sum_round.round_trip, sum_round.attempt) <= (memory.round_trip, memory.attempt),
            f"round trip {sum_round.round_trip}, attempt {sum_round.attempt} was answered or passed over already",
            "A message was repeated; repeat the sum under a new attempt.",
        ),
        (
            sum_round.round_trip == memory.opened,
            f"it has helped to open the sum of round trip {sum_round.round_trip}",
            "The difference of that sum and another one would be a site's own numbers. Start another round trip.",
        ),
        (
            list(sum_round.roster) != sorted(sum_round.roster),
            "the roster is not sorted by name",
            "Neighbours and slots follow from the sorted order, so that nobody chooses them. Does the coordinator run "
            "the same version?",
        ),
        (
            bool(memory.roster) and not set(sum_round.roster) <= set(memory.roster),
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
            "Someone exchanged them, or that site started anew. Start a new run; a roster file shows which.",
        ),
    )
    for refused, reason, remedy in refusals:
        if refused:
            raise SumError(f"Site {site!r} refuses the secure sum: {reason}. {remedy}")
    return replace(
        memory,
        round_trip=sum_round.round_trip,
        attempt=sum_round.attempt,
        roster=sum_round.roster,
        keys=keys,
        least=min_sites,
    )


def admit_opening(memory: Memory, sum_round: SumRound, site: str, over: tuple[str, ...]) -> Memory:
    """Return the site's new memory if it may help to open the last sum over these sites; SumError if they are few."""
    if len(over) < memory.least:
        raise SumError(
            f"Site {site!r} refuses to open a sum over {len(over)} sites: it requires at least {memory.least}. Wait "
            "until more sites are back, or lower min-sites if all hospitals agree."
        )
    return replace(memory, opened=sum_round.round_trip)
