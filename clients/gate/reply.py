"""The one door: all that leaves a site goes through :func:`encode_reply`, later in a sum :func:`encode_relay_reply`.

A part of an answer that is declared *summed* is turned into whole numbers and masked or encrypted by the secure-sum
protocol; one that is *dp*, too, but only with the noise that its proof asks for, and charged. One that is *disclosed*
leaves as it is. Which records it was computed from, the level has decided (:mod:`clients.gate.levels`).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.app import RecordDict

from clients.gate.private import Private
from clients.membership import Participation
from flower_pansvm import records
from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.fixed_point import encode
from flower_pansvm.summing import Payload
from flower_pansvm.tasks import Task


def encode_reply(
    task: Task[Any, Any], answer: object, participation: Participation | None, notes: Mapping[str, bytes]
) -> tuple[RecordDict, bytes]:
    """Return the content of a site's reply, and the site's state for later steps of the secure sum.

    ``answer`` is what the site computed; ``participation`` the secure sum that its summed parts go into, None for a
    task that only discloses. ``notes`` are sealed, for other sites: the coordinator hands them on and cannot read them.
    SumError if the answer is not what the task declares, or lacks its charge.
    """
    if task.dp and not isinstance(answer, Private):
        raise SumError(
            f"The answer to task '{task.name}' has not been charged by privately of clients/gate/private.py. This is a "
            "fault in the program."
        )
    declared = answer.answer if isinstance(answer, Private) else answer
    if type(declared) is not task.answer:
        raise SumError(
            f"The code that answers task '{task.name}' returned another type than its declared answer. This is a "
            "fault in the program: declare all that leaves in flower_pansvm/systems."
        )
    content, state = RecordDict(), b""
    records.put(content, "notes", notes)
    if task.disclosed:
        records.write(content, "disclosed", declared)
    if task.summed:
        if participation is None:
            raise SumError(f"Task '{task.name}' was requested outside a secure sum. Start the run again.")
        summed = {name: np.asarray(getattr(declared, name), dtype=np.float64) for name in task.summed}
        sites, words = len(participation.sum_round.roster), []
        for name, array in summed.items():
            bound = participation.bounds[name]
            words.append(encode(array, bound if np.isfinite(bound) else None, sites))
        masked = participation.protocol.contribute
        payload, state = masked(np.concatenate(words), participation.sum_round, participation.member)
        content.update(encode_relay_reply(payload))
        records.put(content, "shapes", {name: np.array(array.shape) for name, array in summed.items()})
    return content, state


def encode_relay_reply(answer: bytes) -> RecordDict:
    """Return the content of a site's reply to a relay step, masked or encrypted by its protocol."""
    content = RecordDict()
    records.write(content, "sum", Payload(np.frombuffer(answer, dtype=np.uint8)))
    return content
