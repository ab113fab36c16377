"""One secure sum with all its sites in this process, for tests and benchmarks."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from flower_pansvm.secure_sum.contract import Member, SecureSum, SumRound, Words


def gather_members(protocol: SecureSum, names: tuple[str, ...]) -> dict[str, Member]:
    """Return the members of a run with fresh keys, as if all sites had just joined."""
    keys = {name: X25519PrivateKey.generate() for name in names}
    publics = {name: key.public_key().public_bytes_raw() for name, key in keys.items()}
    prepared = {name: protocol.prepare() for name in names}
    published = {name: public for name, (_, public) in prepared.items()}
    return {
        name: Member(
            name=name,
            key=keys[name],
            peers={peer: public for peer, public in publics.items() if peer != name},
            secret=prepared[name][0],
            published=published,
        )
        for name in names
    }


@dataclass
class Rehearsal:
    """Runs sums and records everything that passes through the coordinator."""

    protocol: SecureSum  # the protocol that is rehearsed
    members: Mapping[str, Member]  # the sites by name, from :func:`gather_members`
    first: dict[str, bytes] = field(default_factory=dict)  # each site's first message in the last sum
    # ``(step, site, payload, answer)`` of the last sum's relay steps, in their order.
    relayed: list[tuple[int, str, bytes, bytes]] = field(default_factory=list)
    kept: dict[str, bytes] = field(default_factory=dict)  # each site's state between steps
    # Sites that drop out of a sum after their first messages, if the protocol survives that.
    silent: frozenset[str] = frozenset()

    def run(self, vectors: Mapping[str, Words], sum_round: SumRound) -> Words:
        """Return the sum of the roster's vectors, each of shape (words,), as the coordinator learns it."""
        self.give(vectors, sum_round)
        return self.take(sum_round)

    def give(self, vectors: Mapping[str, Words], sum_round: SumRound) -> None:
        """Have each site of the roster send its first message."""
        self.first = {}
        for name in sum_round.roster:
            self.first[name], self.kept[name] = self.protocol.contribute(
                vectors[name], sum_round, self.members[name]
            )

    def take(self, sum_round: SumRound) -> Words:
        """Return the sum that the coordinator makes of the first messages and all relay steps."""
        self.relayed = []

        def relay(step: int, payloads: Mapping[str, bytes]) -> dict[str, bytes]:
            return {
                name: self.answer(step, name, payload, sum_round)
                for name, payload in payloads.items()
                if name not in self.silent
            }

        return self.protocol.total(self.first, sum_round, relay)

    def answer(self, step: int, name: str, payload: bytes, sum_round: SumRound) -> bytes:
        """Return site ``name``'s answer to a relay step, and record both."""
        answer, self.kept[name] = self.protocol.respond(
            step, payload, self.kept[name], sum_round, self.members[name]
        )
        self.relayed.append((step, name, payload, answer))
        return answer
