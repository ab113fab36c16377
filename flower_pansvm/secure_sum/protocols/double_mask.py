"""The sum with two masks a site, which survives drop-outs: Bonawitz et al. (2017), ACM CCS, protocol 4.

Each site shares a mask with every other, as in :mod:`~flower_pansvm.secure_sum.protocols.k_secure` with all sites, and
adds one more mask of its own. It sends its masked vector together with Shamir shares of the seeds of all these masks,
sealed, one note for each other site. In the one relay step the coordinator says whose vectors have come and delivers
their notes. A site then answers, of each site whose vector has come, with its share of that site's own mask; and of
each that has dropped out, with its shares of the masks that the others have in common with it. With more than
`share-threshold` of the sites' answers the coordinator removes both. It may lose other sites in the relay step.

What it rests on. A site whose vector comes too late stays hidden by its own mask, of which nobody gives a share. A
coordinator that says of a site to some that it has dropped out, and to others that it has not, gets both kinds of
shares, but of neither kind enough: a site answers once in a sum, and says no two things. So with t of n sites needed,
the coordinator alone never learns the sum over two different sets of sites, and it takes 2t - n sites that collude with
it. In two ways this differs from the paper. The seeds are new in each sum, and shares are dealt with the vector: the
masks of one sum tell nothing of those of another, and joining needs no step more. And shares are of the seed that two
sites have in common for this sum, not of the key from which it is derived, so that a site which drops out once keeps
its key.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from flower_pansvm.constraints import one_of, setting
from flower_pansvm.errors import NOT_FOLLOWED, SumError
from flower_pansvm.secure_sum.contract import Member, Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.keys import SEAL_BYTES, add_keystream, pair_key, seal, sum_key, unseal
from flower_pansvm.secure_sum.shamir import SECRET_BYTES, SHARE_BYTES, combine, split
from flower_pansvm.secure_sum.step_state import load_step_state, save_step_state
from flower_pansvm.secure_sum.wire import add_all, everyone, to_bytes

OPEN = 1  # the relay step in which the sites give their shares
MASK, NOTE = "double mask", "double mask shares"  # purposes of keys


@dataclass(frozen=True)
class DoubleMask(SecureSum):
    """The sum with double masks."""

    name: ClassVar[str] = "double-mask"
    protected: ClassVar[bool] = True
    survives: ClassVar[bool] = True

    share_threshold: str = setting(
        "two-thirds",
        one_of("half", "two-thirds"),
        "Of double-mask: more sites than this have to answer, or a sum stays closed.",
    )

    def fewest(self, this: SumRound) -> int:
        """Return the smallest number above half, or two thirds, of the sites."""
        sites = len(this.roster)
        return (sites // 2 if self.share_threshold == "half" else 2 * sites // 3) + 1

    def isolating(self, this: SumRound) -> int:
        """Return 2t - n of n sites of which t have to answer: that many answer the coordinator twice."""
        sites = len(this.roster)
        return min(2 * self.fewest(this) - sites, sites - 1)

    def contribute(self, vector: Words, this: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return the sealed shares for all others, in ring order, and the vector under all masks; run by each site."""
        this.neighbours(member.name)
        masked, own = vector.copy(), secrets.token_bytes(SECRET_BYTES)
        add_keystream(masked, own)
        seeds = [own]
        for other in _others(this, member.name):
            adds = _adds(this, member.name, other)
            giver, taker = (member.name, other) if adds else (other, member.name)
            seeds.append(sum_key(pair_key(member, this.run, giver, taker, MASK), this))
            add_keystream(masked, seeds[-1], subtract=not adds)
        dealt = [split(seed, len(this.roster), self.fewest(this)) for seed in seeds]
        shares = {
            name: b"".join(of_seed[place] for of_seed in dealt) for place, name in enumerate(this.roster)
        }
        notes = [seal(member, other, this, NOTE, shares[other]) for other in _others(this, member.name)]
        return b"".join(notes) + to_bytes(masked), save_step_state(this, OPEN, shares[member.name])

    def opened_over(self, payload: bytes, this: SumRound) -> tuple[str, ...]:
        """Return the sites whose vectors have come, according to the coordinator."""
        flags = payload[: len(this.roster)]
        if len(flags) < len(this.roster) or not {*flags} <= {0, 1}:
            raise SumError(f"The coordinator does not say whose sum is to be opened. {NOT_FOLLOWED}")
        return tuple(name for name, there in zip(this.roster, flags, strict=True) if there)

    def respond(
        self, step: int, payload: bytes, kept: bytes, this: SumRound, member: Member
    ) -> tuple[bytes, bytes]:
        """Return one kind of share of each site, and remove them all from what is kept; run by each site, once."""
        shares = {member.name: load_step_state(kept, this, step, member.name)}
        there = self.opened_over(payload, this)
        if member.name not in there or len(there) < self.fewest(this):
            raise SumError(
                f"Site {member.name!r} refuses to open a sum over {len(there)} of {len(this.roster)} sites: it takes "
                f"{self.fewest(this)}, and its own vector with them. Repeat the sum when more sites are back."
            )
        width, start = _note_bytes(this), len(this.roster)
        for sender in there:
            if sender != member.name:
                shares[sender] = unseal(member, sender, this, NOTE, payload[start : start + width])
                start += width
        if start != len(payload):
            raise SumError(f"Site {member.name!r} was given notes of no site. {NOT_FOLLOWED}")
        return b"".join(
            shares[owner][place * SHARE_BYTES : (place + 1) * SHARE_BYTES]
            for owner, place, _ in _to_remove(this, there)
        ), b""

    def total(self, payloads: Mapping[str, bytes], this: SumRound, relay: Relay) -> Words:
        """Add up the vectors that have come, and remove the masks by the shares; run by the coordinator."""
        everyone(payloads, this, self.fewest(this))
        there = [name for name in this.roster if name in payloads]
        width = _note_bytes(this)
        notes = {
            (sender, receiver): payloads[sender][place * width : (place + 1) * width]
            for sender in there
            for place, receiver in enumerate(_others(this, sender))
        }
        ahead = width * (len(this.roster) - 1)
        total = add_all({name: payloads[name][ahead:] for name in there}, this, self.fewest(this))
        flags = bytes(name in payloads for name in this.roster)
        asked = {
            name: flags + b"".join(notes[sender, name] for sender in there if sender != name)
            for name in there
        }
        answers = relay(OPEN, asked)
        removed = _to_remove(this, there)
        everyone(answers, this, self.fewest(this))
        for name, answer in answers.items():
            if len(answer) != len(removed) * SHARE_BYTES:
                raise SumError(
                    f"Site {name!r} did not answer with {len(removed)} shares. The message was cut short or changed on "
                    "its way; ask for another sum."
                )
        holders = [name for name in this.roster if name in answers][: self.fewest(this)]
        for number, (owner, _, lost) in enumerate(removed):
            start = number * SHARE_BYTES
            seed = combine(
                {this.roster.index(name): answers[name][start : start + SHARE_BYTES] for name in holders}
            )
            add_keystream(total, seed, subtract=not lost or _adds(this, owner, lost))
        return total


def _others(this: SumRound, name: str) -> list[str]:
    """Return all other sites in ring order: as a site's notes, and the seeds in a note behind that of its own mask."""
    return [other for other in this.roster if other != name]


def _adds(this: SumRound, name: str, other: str) -> bool:
    """Tell whether a site adds the mask that it shares with another, which takes it off then."""
    return this.roster.index(name) < this.roster.index(other)


def _note_bytes(this: SumRound) -> int:
    return len(this.roster) * SHARE_BYTES + SEAL_BYTES


def _to_remove(this: SumRound, there: tuple[str, ...] | list[str]) -> list[tuple[str, int, str]]:
    """Return whose masks are left in the sum: the owner, the seed's place in its notes, and with whom it shares it.

    The own mask of each site that is there, and those that it shares with each that has dropped out.
    """
    lost = [name for name in this.roster if name not in there]
    return [
        entry
        for owner in there
        for entry in ((owner, 0, ""), *((owner, 1 + _others(this, owner).index(name), name) for name in lost))
    ]
