"""Where a site's table comes from: the hospital's own node config, or, in a simulation, the data set.

The coordinator never decides which file a hospital reads. Only a simulated site, which has no table of its own, takes
its rows from the data set that the run names.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from clients.cache import cached
from clients.hospital import Hospital
from clients.table.table import FUNCTION
from flower_pansvm.errors import SettingError

if TYPE_CHECKING:
    from flower_pansvm.table_schema import TableSchema


def schema_of(hospital: Hospital) -> Optional["TableSchema"]:
    """Return the site's schema file, None without one; SettingError if it cannot be read or used.

    The coordinator does not name a hospital's file: a run's setting counts at simulated sites only.
    """
    named = str(hospital.terms.config.get("schema", "")) if hospital.simulated else hospital.policy.schema
    if not named:
        return None
    from flower_pansvm.table_schema import TableSchema  # noqa: PLC0415 - many sites have none

    path = Path(named)
    if not path.is_absolute():
        raise SettingError(f"The schema file '{path.name}' has to be named by an absolute path.")
    status = path.stat() if path.is_file() else None
    key = "schema", str(path), status and (status.st_mtime_ns, status.st_size)
    return cached(key, lambda: TableSchema.read(path))


def table_identity(hospital: Hospital) -> Hashable:
    """Return the identity of a site's table, which changes with its file."""
    schema = schema_of(hospital)
    if hospital.simulated:
        from clients.table.simulated import simulated_identity  # noqa: PLC0415 - hospitals have their own tables

        return simulated_identity(hospital, schema)
    policy = hospital.policy
    status = Path(policy.data).stat() if Path(policy.data).is_file() else None
    return (
        *(policy.data, policy.label, policy.row_id),
        status and (status.st_mtime_ns, status.st_size),
        # What a query or a function answers has no mark of its change: each run asks anew.
        hospital.run_id if is_queried(policy.data) else None,
        policy.parts,
        schema and (schema.digest, schema.reading),
    )


def is_queried(data: str) -> bool:
    """Tell whether a table is the answer of a query or a function."""
    return ".sql" in Path(data.lower()).suffixes or data.lower().startswith(FUNCTION)
