"""The sum with two masks a site, which survives drop-outs: Bonawitz et al. (2017), ACM CCS, protocol 4.

Each site shares a mask with every other, as in :mod:`~flower_pansvm.secure_sum.protocols.k_secure` with all sites, and
adds one more mask of its own. It sends its masked vector together with Shamir shares of the seeds of all these masks,
sealed, one note for each other site. In the one relay step the coordinator names the sites whose vectors have come, and
delivers their notes. For each such site, a site answers with its share of that site's own mask; for each site that has
dropped out, with its shares of the masks that the others have in common with it. With more than `share-threshold` of
the sites' answers the coordinator removes both. Further sites may drop out in the relay step.

What it rests on. A site whose vector comes too late stays hidden by its own mask, of which nobody gives a share. A
coordinator that names a site as dropped to some sites, and as present to others, gets both kinds of shares, but too few
of either: a site answers once in a sum. So with t of n sites needed, the coordinator alone never learns the sum over
two different sets of sites; it needs 2t - n sites that collude with it. Two things differ from the paper. The seeds are
new in each sum, and their shares travel with the vector: the masks of one sum reveal nothing of those of another, and
joining needs no further step. And shares are of the seed that two sites have in common for this sum, not of the key
from which it is derived, so that a site which drops out once keeps its key.
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from flower_pansvm.constraints import one_of, setting
from flower_pansvm.errors import NOT_FOLLOWED, SumError
from flower_pansvm.secure_sum.contract import Member, Relay, SecureSum, SumRound, Words
from flower_pansvm.secure_sum.keys import SEAL_BYTES, add_keystream, pair_key, seal, sum_key, unseal
from flower_pansvm.secure_sum.shamir import SECRET_BYTES, SHARE_BYTES, combine, split
from flower_pansvm.secure_sum.step_state import load_step_state, save_step_state
from flower_pansvm.secure_sum.wire import add_all, check_roster, to_bytes

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
        "Of double-mask: share of the sites; more must answer to open a sum.",
    )

    def fewest(self, sum_round: SumRound) -> int:
        """Return the smallest number above half, or two thirds, of the sites."""
        sites = len(sum_round.roster)
        return (sites // 2 if self.share_threshold == "half" else 2 * sites // 3) + 1

    def isolating(self, sum_round: SumRound) -> int:
        """Return 2t - n of n sites of which t have to answer: that many answer the coordinator twice."""
        sites = len(sum_round.roster)
        return min(2 * self.fewest(sum_round) - sites, sites - 1)

    def contribute(self, vector: Words, sum_round: SumRound, member: Member) -> tuple[bytes, bytes]:
        """Return the sealed shares for all others, in ring order, and the vector under all masks; run by each site."""
        sum_round.neighbours(member.name)
        masked, others = vector.copy(), _others(sum_round, member.name)
        seeds = [secrets.token_bytes(SECRET_BYTES)]
        add_keystream(masked, seeds[0])
        for other in others:
            adds = _adds(sum_round, member.name, other)
            giver, taker = (member.name, other) if adds else (other, member.name)
            seeds.append(sum_key(pair_key(member, sum_round.run, giver, taker, MASK), sum_round))
            add_keystream(masked, seeds[-1], subtract=not adds)
        by_seed = [split(seed, len(sum_round.roster), self.fewest(sum_round)) for seed in seeds]
        shares = dict(zip(sum_round.roster, map(b"".join, zip(*by_seed, strict=True)), strict=True))
        notes = [seal(member, other, sum_round, NOTE, shares[other]) for other in others]
        return b"".join(notes) + to_bytes(masked), save_step_state(sum_round, OPEN, shares[member.name])

    def opened_over(self, payload: bytes, sum_round: SumRound) -> tuple[str, ...]:
        """Return the sites whose vectors have come, according to the coordinator."""
        flags = payload[: len(sum_round.roster)]
        if len(flags) < len(sum_round.roster) or not {*flags} <= {0, 1}:
            raise SumError(f"A request to open a sum does not name the sites of the sum. {NOT_FOLLOWED}")
        return tuple(name for name, flag in zip(sum_round.roster, flags, strict=True) if flag)

    def respond(
        self, step: int, payload: bytes, state: bytes, sum_round: SumRound, member: Member
    ) -> tuple[bytes, bytes]:
        """Return one kind of share of each site, and delete the site's state; run by each site, once."""
        shares = {member.name: load_step_state(state, sum_round, step, member.name)}
        present, fewest = self.opened_over(payload, sum_round), self.fewest(sum_round)
        width, start = _note_bytes(sum_round), len(sum_round.roster)
        if member.name not in present or len(present) < fewest:
            raise SumError(
                f"Site {member.name!r} refuses to open a sum over {len(present)} of {start} sites: {fewest} sites are "
                "needed, this site among them. Repeat the sum when more sites are back."
            )
        for sender in present:
            if sender != member.name:
                shares[sender] = unseal(member, sender, sum_round, NOTE, payload[start : start + width])
                start += width
        if start != len(payload):
            raise SumError(f"Site {member.name!r} received notes that are not of these sites. {NOT_FOLLOWED}")
        return b"".join(
            shares[owner][index * SHARE_BYTES : (index + 1) * SHARE_BYTES]
            for owner, index, _ in _to_remove(sum_round, present)
        ), b""

    def total(self, payloads: Mapping[str, bytes], sum_round: SumRound, relay: Relay) -> Words:
        """Add up the vectors that have come, and remove the masks by the shares; run by the coordinator."""
        fewest, width = self.fewest(sum_round), _note_bytes(sum_round)
        check_roster(payloads, sum_round, fewest)
        present = [name for name in sum_round.roster if name in payloads]
        notes = {
            (sender, receiver): payloads[sender][index * width : (index + 1) * width]
            for sender in present
            for index, receiver in enumerate(_others(sum_round, sender))
        }
        notes_bytes = width * (len(sum_round.roster) - 1)
        total = add_all({name: payloads[name][notes_bytes:] for name in present}, sum_round, fewest)
        flags = bytes(name in payloads for name in sum_round.roster)
        requests = {
            name: flags + b"".join(notes[sender, name] for sender in present if sender != name)
            for name in present
        }
        answers = relay(OPEN, requests)
        masks = _to_remove(sum_round, present)
        check_roster(answers, sum_round, fewest)
        for name, answer in answers.items():
            if len(answer) != len(masks) * SHARE_BYTES:
                raise SumError(
                    f"Site {name!r} did not answer with {len(masks)} shares. The message was cut short or changed on "
                    "its way; ask for another sum."
                )
        holders = [(index, answers[name]) for index, name in enumerate(sum_round.roster) if name in answers][
            :fewest
        ]
        for mask, (owner, _, dropped) in enumerate(masks):
            start = mask * SHARE_BYTES
            seed = combine({index: answer[start : start + SHARE_BYTES] for index, answer in holders})
            add_keystream(total, seed, subtract=not dropped or _adds(sum_round, owner, dropped))
        return total


def _others(sum_round: SumRound, name: str) -> list[str]:
    """Return all other sites in ring order, the order of a site's notes and of the pairwise seeds in each note."""
    return [other for other in sum_round.roster if other != name]


def _adds(sum_round: SumRound, name: str, other: str) -> bool:
    """Return whether a site adds the mask that it shares with another; then the other one subtracts it."""
    return sum_round.roster.index(name) < sum_round.roster.index(other)


def _note_bytes(sum_round: SumRound) -> int:
    return len(sum_round.roster) * SHARE_BYTES + SEAL_BYTES


def _to_remove(sum_round: SumRound, present: Collection[str]) -> list[tuple[str, int, str]]:
    """Return the masks left in the sum: owner, index of the seed in its notes, and the dropped site that shares it.

    These are each present site's own mask (no dropped site, an empty name), and its masks with dropped sites.
    """
    dropped = [name for name in sum_round.roster if name not in present]
    masks = []
    for owner in present:
        masks.append((owner, 0, ""))
        masks += [(owner, 1 + _others(sum_round, owner).index(name), name) for name in dropped]
    return masks
