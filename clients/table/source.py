"""Where a site's table comes from: the hospital's own node config, or, in a simulation, the data set.

The coordinator never decides which file a hospital reads. Only a simulated site, which has no table of its own, takes
its rows from the data set that the run names.
"""

import hashlib
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from clients.cache import cached
from clients.hospital import Hospital
from clients.table.table import FUNCTION, LABEL, Table, digest
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
    if hospital.partition is not None:
        from clients.table.simulated import simulated_tables  # noqa: PLC0415 - as above

        run = hospital.terms.config
        stamp = simulated_tables().stamp_of_node(run, hospital.partition[0])
        keys = ("data", "label", "split", "seed", "data-dir", "drop")
        choice = *(run.get(key) for key in keys), schema and (schema.digest, schema.reading)
        return hospital.partition, stamp, choice
    policy = hospital.policy
    status = Path(policy.data).stat() if Path(policy.data).is_file() else None
    return (
        *(policy.data, policy.label, policy.row_id),
        status and (status.st_mtime_ns, status.st_size),
        # What a query or a function answers has no mark of its change: each run asks anew.
        hospital.run_id if _is_asked(policy.data) else None,
        policy.parts,
        schema and (schema.digest, schema.reading),
    )


def table_version(hospital: Hospital, table: Table) -> str:
    """Return the version of a table, which stays until somebody changes it: of a file its time and length.

    A query and a function have no such mark: it is a digest of the answer.
    """
    answer = digest(table) if _is_asked(hospital.policy.data) else b""
    return hashlib.sha256(repr((table_identity(hospital), answer)).encode()).hexdigest()


def _is_asked(data: str) -> bool:
    """Tell whether a table is the answer of a query or a function."""
    return ".sql" in Path(data.lower()).suffixes or data.lower().startswith(FUNCTION)


def label_place(hospital: Hospital) -> str:
    """Return column and file of a site's labels, for errors; the file without its folder."""
    if hospital.partition is not None:
        from clients.table.simulated import simulated_tables  # noqa: PLC0415 - as above

        return simulated_tables().label_place_of_node(hospital.terms.config, hospital.partition[0])
    return f"column '{label_column(hospital)}' of '{Path(hospital.policy.data).name}'"


def label_column(hospital: Hospital) -> str:
    """Return the name of the column that a site's labels are from; of a simulated site any that stays the same."""
    schema = schema_of(hospital)
    return hospital.policy.label or (schema and schema.label) or LABEL
