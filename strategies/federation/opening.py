"""From the sites' replies to the sums that they add up to, each checked."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.app import RecordDict

from flower_pansvm import records
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import FederationError, SumError
from flower_pansvm.records import MOST_SIDES
from flower_pansvm.secure_sum.contract import Relay, SecureSum, Words
from flower_pansvm.secure_sum.decoding import decode, words_needed
from flower_pansvm.secure_sum.wire import from_bytes
from flower_pansvm.summing import Payload
from flower_pansvm.tasks import Task
from strategies.federation.checks import AggregateResult, Request, check_sum
from strategies.federation.pending import sender_of
from strategies.federation.relations import RELATIONS


def open_sums(
    request: Request,
    contents: Mapping[str, RecordDict],
    protocol: SecureSum,
    relay: Relay,
) -> dict[str, Floats]:
    """Return the sums that the replies to a request add up to.

    Parameters
    ----------
    request : Request
        What was asked.
    contents : mapping of str to RecordDict
        The replies, by site.
    protocol : SecureSum
        How the sums are hidden.
    relay : callable
        Takes one step of a protocol that needs several.

    Raises
    ------
    FederationError
        If a sum is invalid, or, where nothing hides it, what a site has contributed.
    """
    this, task, bounds = request.this, request.task, request.bounds
    relations = RELATIONS.get(task.name)
    shapes = common_shapes(contents, task)
    payloads = {name: payload_of(content, name) for name, content in contents.items()}
    words = protocol.total(payloads, this, relay)
    sums = unpack(words, task, shapes, bounds, len(this.roster))
    if not protocol.protected:
        for site, payload in payloads.items():
            own = unpack(from_bytes(payload, site), task, shapes, bounds, len(this.roster))
            check_sum(AggregateResult(request, own, (site,)), relations, site)
    check_sum(AggregateResult(request, sums, this.roster), relations)
    return sums


def payload_of(content: RecordDict, site: str) -> bytes:
    """Return what a site's protocol has put into its reply.

    Raises
    ------
    FederationError
        If there is nothing of the kind; it names the site.
    """
    return records.read(content, "sum", Payload, sender_of(site)).payload.tobytes()


def unpack(
    words: Words,
    task: Task[Any, Any],
    shapes: Mapping[str, tuple[int, ...]],
    bounds: Mapping[str, float],
    sites: int,
) -> dict[str, Floats]:
    """Return the results that a sum of the sites' words holds, in the order in which the task declares them."""
    sums, place = {}, 0
    for name in task.summed:
        bound = bounds[name] if np.isfinite(bounds[name]) else None
        length = words_needed(math.prod(shapes[name]), bound)
        sums[name] = decode(words[place : place + length], shapes[name], bound, sites)
        place += length
    return sums


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
