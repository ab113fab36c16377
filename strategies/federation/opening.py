"""From the sites' replies to the sums that they add up to, each checked for what it cannot be."""

from collections.abc import Mapping

import numpy as np
from flwr.app import RecordDict
from numpy.typing import NDArray

from flower_pansvm.secure_sum.contract import Relay, SecureSum
from flower_pansvm.secure_sum.wire import from_bytes
from strategies.federation.envelope import Request, common_shapes, payload_of, unpack
from strategies.plausible.check import check_sum
from strategies.plausible.opened import KnownRows, Opened


def open_sums(
    request: Request,
    contents: Mapping[str, RecordDict],
    protocol: SecureSum,
    relay: Relay,
    known: KnownRows | None,
) -> dict[str, NDArray[np.float64]]:
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
    known : KnownRows or None
        What earlier sums have told of the sites' rows.

    Raises
    ------
    FederationError
        If a sum cannot be, or, where nothing hides it, what a site has contributed.
    """
    this, task, bounds = request.this, request.task, request.bounds
    shapes = common_shapes(contents, task)
    payloads = {name: payload_of(content, name) for name, content in contents.items()}
    words = protocol.total(payloads, this, relay)
    sums = unpack(words, task, shapes, bounds, len(this.roster))
    if not protocol.protected:
        for site, payload in payloads.items():
            own = unpack(from_bytes(payload, site), task, shapes, bounds, len(this.roster))
            check_sum(_opened(request, own, (site,), known), site)
    check_sum(_opened(request, sums, this.roster, known))
    return sums


def _opened(
    request: Request,
    sums: Mapping[str, NDArray[np.float64]],
    sites: tuple[str, ...],
    known: KnownRows | None,
) -> Opened:
    everyone = len(request.this.roster)
    return Opened(request.task, request.question, sums, request.bounds, sites, request.slack, known, everyone)
