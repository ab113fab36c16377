"""The one door: everything that leaves a site goes through :func:`leave`, or :func:`pass_on` within a sum.

A part of an answer that is declared *summed* is turned into whole numbers and masked or encrypted by the secure-sum
protocol; one that is *noised*, too, but only with the site's noise in it; one that is *private*, only with the noise
that its promise asks for, and charged. One that is *disclosed* leaves as it is.
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from flwr.app import RecordDict
from numpy.typing import NDArray

from clients.gate.blur import Noised
from clients.gate.membership import Participation
from clients.gate.private import Private
from flower_pansvm import records
from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.fixed_point import encode
from flower_pansvm.tasks.summing import Payload
from flower_pansvm.tasks.task import Task

Q = TypeVar("Q")
A = TypeVar("A")


def leave(
    task: Task[Q, A],
    answer: A | Noised[A] | Private[A],
    participation: Participation | None,
    notes: Mapping[str, bytes],
) -> tuple[RecordDict, bytes]:
    """Return the content of a site's reply, and what the site keeps for later steps of the secure sum.

    Parameters
    ----------
    task : Task
        The task, whose answer declares how each part leaves.
    answer : object
        What the site computed: the task's dataclass, with noise if any part is to have some.
    participation : Participation or None
        The secure sum that the summed parts go into; None for a task that only discloses.
    notes : mapping of site name to bytes
        Sealed notes that the coordinator hands on to other sites without being able to read them.

    Raises
    ------
    SumError
        If the answer is not the one that the task declares, lacks the noise or the charge, or a value does not fit the
        secure sum.
    """
    if task.noised and not isinstance(answer, Noised):
        raise SumError(
            f"The answer to task '{task.name}' has not been through add_noise of clients/gate/blur.py, and some of its "
            "parts may leave only with noise. This is a fault in the program."
        )
    if task.private and not isinstance(answer, Private):
        raise SumError(
            f"The answer to task '{task.name}' has not been charged by privately of clients/gate/private.py. This is a "
            "fault in the program."
        )
    given = answer.answer if isinstance(answer, Noised | Private) else answer
    if type(given) is not task.answer:
        raise SumError(
            f"The code that answers task '{task.name}' returned something else than its answer declares. This is a "
            "fault in the program: declare all that leaves in flower_pansvm/tasks."
        )
    content, kept = RecordDict(), b""
    records.put(content, "notes", notes)
    if task.disclosed:
        records.write(content, "disclosed", given)
    if task.summed:
        if participation is None:
            raise SumError(f"Task '{task.name}' was asked for outside a secure sum. Start the run again.")
        summed = {name: np.asarray(getattr(given, name), dtype=np.float64) for name in task.summed}
        payload, kept = _masked(summed, participation)
        records.write(content, "sum", _payload(payload))
        records.put(content, "shapes", {name: np.array(array.shape) for name, array in summed.items()})
    return content, kept


def pass_on(answer: bytes) -> RecordDict:
    """Return the content of a site's reply to a relay step: what its protocol made, masked or encrypted."""
    content = RecordDict()
    records.write(content, "sum", _payload(answer))
    return content


def _payload(answer: bytes) -> Payload:
    return Payload(np.frombuffer(answer, dtype=np.uint8))


def _masked(summed: Mapping[str, NDArray[np.float64]], participation: Participation) -> tuple[bytes, bytes]:
    sites = len(participation.this.roster)
    words = [encode(array, _bound(participation.bounds[name]), sites, name) for name, array in summed.items()]
    return participation.protocol.contribute(np.concatenate(words), participation.this, participation.member)


def _bound(bound: float) -> float | None:
    return bound if np.isfinite(bound) else None
