"""One round trip where it is promised, and as many relay steps as published in hops."""

from typing import Any

import numpy as np
import pytest

from flower_pansvm.secure_sum import protocol_class
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.rehearsal import Rehearsal, gather_members

THIS = SumRound("run", "task", 1, 0, ("a", "b", "c", "d", "e"))


@pytest.mark.parametrize(
    ("name", "options", "steps"),
    [
        ("plain", {}, 0),
        ("ring", {}, 0),
        ("ring-hops", {}, 5),
        ("k-secure", {}, 0),
        ("k-secure", {"k": 2}, 0),
        ("k-secure-hops", {"k": 2}, 5 + 2 * 5 - 1),
        ("k-secure-hops", {"k": 3}, 5 + 3 * 5 - 1),
        ("k-secure-hops", {}, 5 + 5 * 5 - 1),
        ("paillier", {"key_bits": 2048}, 1),
    ],
)
def test_relay_steps_of_a_sum(name: str, options: dict[str, Any], steps: int) -> None:
    protocol = protocol_class(name)(**options)
    rehearsal = Rehearsal(protocol, gather_members(protocol, THIS.roster))
    rehearsal.run({site: np.zeros(2, np.uint64) for site in THIS.roster}, THIS)
    assert len(rehearsal.relayed) == steps
