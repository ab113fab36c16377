"""What the coordinator has told all sites: kept for the tasks that follow, and part of the name of every sum."""

from typing import Any, cast

from flwr.app import ConfigRecord, Context, RecordDict

from clients.cache import cached
from clients.terms import site_name
from flower_pansvm import messages, records
from flower_pansvm.errors import FederationError

PREFIX = "broadcast."
SUFFIX = ".values"
DIGEST = "digest"


def keep(context: Context, content: RecordDict) -> None:
    """Keep the broadcasts of a message for the tasks that follow; one of the same name is replaced.

    Raises
    ------
    FederationError
        If it is another schema than the one this site has. Two splits into training and test rows that differ in
        one row would give that row away: it is the difference of two sums.
    """
    before = _digests(context)
    for name, values in records.groups(content, PREFIX).items():
        digest = records.digest(values)
        if name == messages.SCHEMA and before.get(name, digest) != digest:
            raise FederationError(
                f"Site '{site_name(context)}' refuses a second schema: columns, classes and split stay as they are "
                "for the whole run. Start a new run."
            )
        records.put(context.state, PREFIX + name, {**values, DIGEST: digest})


def recall(context: Context, name: str) -> dict[str, Any]:
    """Return the values of a broadcast; this process reads the same values only once.

    Raises
    ------
    FederationError
        If this site has not received it.
    """
    if not records.has(context.state, PREFIX + name):
        raise FederationError(
            f"Site '{site_name(context)}' has not received the broadcast '{name}'. It joined too late or its node "
            "was started again during the run; start the run again."
        )
    digest = _digest(context.state[f"{PREFIX}{name}{SUFFIX}"])
    return cast("dict[str, Any]", cached((PREFIX, digest), lambda: records.get(context.state, PREFIX + name)))


def told(context: Context, content: RecordDict) -> dict[str, str]:
    """Return the digests of all that this site has been told, a message's broadcasts included, by name."""
    new = {name: records.digest(values) for name, values in records.groups(content, PREFIX).items()}
    return {**_digests(context), **new}


def _digests(context: Context) -> dict[str, str]:
    return {
        key.removeprefix(PREFIX).removesuffix(SUFFIX): _digest(record)
        for key, record in context.state.items()
        if key.startswith(PREFIX) and key.endswith(SUFFIX)
    }


def _digest(record: object) -> str:
    return str(cast(ConfigRecord, record)[DIGEST])
