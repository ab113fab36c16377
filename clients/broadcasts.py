"""What the coordinator has told all sites: kept for the tasks that follow, and part of the name of every sum."""

from typing import cast

from flwr.app import RecordDict

from clients.hospital import Hospital
from flower_pansvm import records
from flower_pansvm.errors import FederationError
from flower_pansvm.systems.common import SCHEMA

PREFIX = "broadcast."
DIGESTS = "told"  # in a site's state: the digest of each broadcast that it keeps


def keep(hospital: Hospital, content: RecordDict) -> None:
    """Keep the broadcasts of a message for the tasks that follow; one of the same name is replaced.

    But for the schema: sums over two splits into training and test rows that differ in one row would give it away.
    """
    before, now = _digests(hospital), told(hospital, content)
    if SCHEMA.name in before and before[SCHEMA.name] != now[SCHEMA.name]:
        raise FederationError(
            f"Site '{hospital.name}' refuses a second schema: a run has one. Start a new run."
        )
    for name, values in records.groups(content, PREFIX).items():
        records.put(hospital.state, PREFIX + name, values)
    records.put(hospital.state, DIGESTS, now)


def told(hospital: Hospital, content: RecordDict) -> dict[str, str]:
    """Return the digests of all that this site has been told, a message's broadcasts included, by name."""
    new = {name: records.digest(values) for name, values in records.groups(content, PREFIX).items()}
    return {**_digests(hospital), **new}


def _digests(hospital: Hospital) -> dict[str, str]:
    return cast("dict[str, str]", records.get(hospital.state, DIGESTS))
