"""What the coordinator writes on a message of a secure sum, and reads off the replies."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import RecordDict
from numpy.typing import NDArray

from flower_pansvm import records
from flower_pansvm.arrays import Ints
from flower_pansvm.errors import FederationError, SumError
from flower_pansvm.records import MOST_SIDES
from flower_pansvm.secure_sum.contract import SumRound, Words
from flower_pansvm.secure_sum.decoding import decode, words_needed
from flower_pansvm.summing import Payload, PublicKeys, WhichSum
from flower_pansvm.tasks import Task


@dataclass(frozen=True)
class Contact:
    """How to reach a site that has joined, and what it has said of itself."""

    node_id: int
    keys: PublicKeys
    version: str
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    simulated: bool = False


@dataclass(frozen=True)
class Request:
    """One attempt at a secure sum: which sum of which task, its question, the bounds of its results, their slack."""

    this: SumRound
    task: Task[Any, Any]
    question: object
    bounds: Mapping[str, float]
    slack: Mapping[str, float]


def put_sum(content: RecordDict, this: SumRound, joined: Mapping[str, Contact]) -> None:
    """Write on a message which sum it is about.

    Parameters
    ----------
    content : RecordDict
        The message's content.
    this : SumRound
        The sum.
    joined : mapping of site name to Contact
        All sites that have joined the run.
    """
    taking_part = set(this.roster)
    left_out = tuple(name for name in joined if name not in taking_part)
    records.write(content, "sum", WhichSum(this.task, this.round_trip, this.attempt, left_out))


def unpack(
    words: Words,
    task: Task[Any, Any],
    shapes: Mapping[str, tuple[int, ...]],
    bounds: Mapping[str, float],
    sites: int,
) -> dict[str, NDArray[np.float64]]:
    """Return the results that a sum of the sites' words holds, in the order in which the task declares them."""
    sums, place = {}, 0
    for name in task.summed:
        bound = bounds[name] if np.isfinite(bounds[name]) else None
        length = words_needed(math.prod(shapes[name]), bound)
        sums[name] = decode(words[place : place + length], shapes[name], bound, sites)
        place += length
    return sums


def sender_of(site: str) -> str:
    """Return how the errors of :mod:`flower_pansvm.records` name a site that has sent something."""
    return f"Site '{site}'"


def payload_of(content: RecordDict, site: str) -> bytes:
    """Return what a site's protocol has put into its reply.

    Raises
    ------
    FederationError
        If there is nothing of the kind; it names the site.
    """
    return records.read(content, "sum", Payload, sender_of(site)).payload.tobytes()


def common_shapes(contents: Mapping[str, RecordDict], task: Task[Any, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each result of a task, which must be the same at all sites.

    Raises
    ------
    FederationError
        If a site has sent no shapes, or such as no array has; it names the site.
    SumError
        If the shapes differ.
    """
    shapes = {site: _shapes_of(content, task, site) for site, content in contents.items()}
    first = next(iter(shapes))
    for site, own in shapes.items():
        if own != shapes[first]:
            raise SumError(
                f"Sites '{first}' and '{site}' sent results of different shapes, which cannot be added up. Do all "
                "sites run the same version of flower-pansvm?"
            )
    return shapes[first]


def _shapes_of(content: RecordDict, task: Task[Any, Any], site: str) -> dict[str, tuple[int, ...]]:
    shapes = {}
    sent: dict[str, Ints] = records.read_each(content, "shapes", Ints, sender_of(site))
    for name in task.summed:
        sides = sent.get(name)
        if sides is None or sides.ndim != 1 or len(sides) > MOST_SIDES or (sides < 0).any():
            raise FederationError(
                f"Site '{site}' says of the result '{name}' of task '{task.name}' that it has a shape which no array "
                "has. Does it run the same version of flower-pansvm?"
            )
        shapes[name] = tuple(sides.tolist())
    return shapes


def notes_by_receiver(contents: Mapping[str, RecordDict]) -> dict[str, dict[str, bytes]]:
    """Sort the sealed notes in the sites' replies by the site they are for."""
    notes: dict[str, dict[str, bytes]] = {}
    for sender, content in contents.items():
        for receiver, note in records.read_each(content, "notes", bytes, sender_of(sender)).items():
            notes.setdefault(receiver, {})[sender] = note
    return notes
