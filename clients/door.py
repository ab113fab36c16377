"""The one door: everything that leaves a site goes through :func:`leave`, or :func:`pass_on` within a sum.

A result that its task declares as *summed* is turned into whole numbers and masked or encrypted by the
secure-sum protocol. One that is declared *disclosed* leaves as it is. Anything else stays.
"""

from collections.abc import Mapping

import numpy as np
from flwr.app import RecordDict
from numpy.typing import NDArray

from clients.membership import Participation
from flower_pansvm import records
from flower_pansvm.errors import SumError
from flower_pansvm.messages import Task
from flower_pansvm.records import Value
from flower_pansvm.secure_sum.fixed_point import encode


def leave(
    task: Task,
    results: Mapping[str, Value],
    participation: Participation | None,
    notes: Mapping[str, bytes],
) -> tuple[RecordDict, bytes]:
    """Return the content of a site's reply, and what the site keeps for later steps of the secure sum.

    Parameters
    ----------
    task : Task
        The task, which declares what is summed and what is disclosed.
    results : mapping
        What the site computed, by name.
    participation : Participation or None
        The secure sum that the summed results go into; None for a task that only discloses.
    notes : mapping of site name to bytes
        Sealed notes that the coordinator hands on to other sites without being able to read them.

    Raises
    ------
    SumError
        If the results are not those the task declares, or a value does not fit the secure sum.
    """
    declared = {*task.summed, *task.disclosed}
    if set(results) != declared:
        raise SumError(
            f"Task '{task.name}' declares the results {sorted(declared)} but its code returned {sorted(results)}. "
            "This is a fault in the program: declare every result in flower_pansvm/messages.py."
        )
    content, kept = RecordDict(), b""
    records.put(content, "disclosed", {name: results[name] for name in task.disclosed})
    records.put(content, "notes", notes)
    if task.summed:
        if participation is None:
            raise SumError(f"Task '{task.name}' was asked for outside a secure sum. Start the run again.")
        summed = {name: np.asarray(results[name], dtype=np.float64) for name in task.summed}
        payload, kept = _masked(summed, participation)
        records.put(content, "sum", {"payload": np.frombuffer(payload, dtype=np.uint8)})
        records.put(content, "shapes", {name: np.array(array.shape) for name, array in summed.items()})
    return content, kept


def pass_on(answer: bytes) -> RecordDict:
    """Return the content of a site's reply to a relay step: what its protocol made, masked or encrypted."""
    content = RecordDict()
    records.put(content, "sum", {"payload": np.frombuffer(answer, dtype=np.uint8)})
    return content


def _masked(summed: Mapping[str, NDArray[np.float64]], participation: Participation) -> tuple[bytes, bytes]:
    sites = len(participation.this.roster)
    words = [encode(array, _bound(participation.bounds[name]), sites, name) for name, array in summed.items()]
    return participation.protocol.contribute(np.concatenate(words), participation.this, participation.member)


def _bound(bound: float) -> float | None:
    return bound if np.isfinite(bound) else None
