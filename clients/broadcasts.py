"""What the coordinator has told all sites: kept for the tasks that follow, and part of the name of every sum."""

from typing import Any, TypeVar, cast

import numpy as np
from flwr.app import Context, RecordDict

from clients.cache import cached
from clients.policy import site_name
from flower_pansvm import records
from flower_pansvm.errors import NOT_FOLLOWED, FederationError
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.tasks import Broadcast

M = TypeVar("M")

PREFIX = "broadcast."
DIGESTS = "told"  # in a site's state: the digest of each broadcast that it keeps


def keep(context: Context, content: RecordDict) -> None:
    """Keep the broadcasts of a message for the tasks that follow; one of the same name is replaced.

    But for the schema: sums over two splits into training and test rows that differ in one row would give it away.
    """
    before, now = _digests(context), told(context, content)
    if SCHEMA.name in before and before[SCHEMA.name] != now[SCHEMA.name]:
        raise FederationError(
            f"Site '{site_name(context)}' refuses a second schema: a run has one. Start a new run."
        )
    for name, values in records.groups(content, PREFIX).items():
        records.put(context.state, PREFIX + name, values)
    records.put(context.state, DIGESTS, now)


def recall(context: Context, broadcast: Broadcast[M]) -> M:
    """Return a broadcast, all of whose numbers are finite or missing cells; a process reads the same one only once."""
    key, group = (broadcast.message, digest_of(context, broadcast)), PREFIX + broadcast.name

    def read() -> M:
        message = records.read(context.state, group, broadcast.message)
        for value in records.values_of(message).values():
            if not isinstance(value, np.ndarray | float):
                continue
            finite = np.isfinite(value) | (np.isnan(value) & broadcast.cells)
            if not finite.all():
                raise FederationError(
                    f"Site '{site_name(context)}' was told a number that is not finite. {NOT_FOLLOWED}"
                )
        return message

    return cast(M, cached(key, read))


def digest_of(context: Context, broadcast: Broadcast[Any]) -> str:
    """Return the digest of a broadcast; raises FederationError if this site has not received it."""
    known = records.get_one(context.state, DIGESTS, broadcast.name)
    if known is None:
        raise FederationError(
            f"Site '{site_name(context)}' has not received the broadcast '{broadcast.name}'. It joined too late or its "
            "node was started again during the run; start the run again."
        )
    return cast(str, known)


def was_told(context: Context, broadcast: Broadcast[Any]) -> bool:
    """Return whether this site has received a broadcast."""
    return records.get_one(context.state, DIGESTS, broadcast.name) is not None


def told(context: Context, content: RecordDict) -> dict[str, str]:
    """Return the digests of all that this site has been told, a message's broadcasts included, by name."""
    new = {name: records.digest(values) for name, values in records.groups(content, PREFIX).items()}
    return {**_digests(context), **new}


def _digests(context: Context) -> dict[str, str]:
    return cast("dict[str, str]", records.get(context.state, DIGESTS))
