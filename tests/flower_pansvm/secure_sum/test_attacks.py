"""An active coordinator or network: what the sites notice in the executions that relay notes between them."""

from typing import Any

import numpy as np
import pytest

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum import make
from flower_pansvm.secure_sum.contract import SumRound, Words
from flower_pansvm.secure_sum.rehearsal import Rehearsal, gather_members

ROSTER = ("a", "b", "c", "d", "e")
VECTORS: dict[str, Words] = {name: np.full(5, number, np.uint64) for number, name in enumerate(ROSTER)}
HOPS: list[tuple[str, dict[str, Any]]] = [
    ("ring-hops", {}),
    ("k-secure-hops", {}),
    ("k-secure-hops", {"k": 2}),
]


class Watched(Rehearsal):
    """A rehearsal that also looks at what the sites keep after each step."""

    def run(self, vectors: Any, this: SumRound) -> Words:
        self.held: dict[tuple[int, str], bytes] = {}
        return super().run(vectors, this)

    def answer(self, step: int, name: str, payload: bytes, this: SumRound) -> bytes:
        answer = super().answer(step, name, payload, this)
        self.held[step, name] = self.kept[name]
        return answer


def a_round(round_trip: int, attempt: int = 0) -> SumRound:
    return SumRound(run="r", task="t", round_trip=round_trip, attempt=attempt, roster=ROSTER)


@pytest.mark.parametrize(("name", "options"), HOPS, ids=str)
@pytest.mark.parametrize("attack", ["flip", "cut", "empty", "swap", "earlier"])
def test_a_relayed_note_that_is_not_the_right_one_is_refused(
    name: str, options: dict[str, Any], attack: str
) -> None:
    protocol = make(name, **options)
    rehearsal = Watched(protocol, gather_members(protocol, ROSTER))
    rehearsal.run(VECTORS, a_round(1))
    earlier = {(step, site): payload for step, site, payload, _ in rehearsal.relayed}
    rehearsal.run(VECTORS, a_round(2))
    payloads = {(step, site): payload for step, site, payload, _ in rehearsal.relayed}
    held = rehearsal.held
    for (step, site), payload in payloads.items():
        mine = [key for key in payloads if key[1] == site and key[0] < step]
        kept = held[mine[-1]] if mine else first_kept(rehearsal, site)
        broken = {
            "flip": payload[:30] + bytes([payload[30] ^ 1]) + payload[31:],
            "cut": payload[:-1],
            "empty": b"",
            "swap": next(other for key, other in payloads.items() if key != (step, site)),
            "earlier": next(
                other for key, other in earlier.items() if key[1] == site and (key[0] == 1) == (step == 1)
            ),
        }[attack]
        with pytest.raises(SumError):
            rehearsal.protocol.respond(step, broken, kept, a_round(2), rehearsal.members[site])
        rehearsal.protocol.respond(step, payload, kept, a_round(2), rehearsal.members[site])


def first_kept(rehearsal: Rehearsal, site: str) -> bytes:
    """Return something a site could have kept from its first message; what it holds does not matter here."""
    _, kept = rehearsal.protocol.contribute(VECTORS[site], a_round(2), rehearsal.members[site])
    return kept
