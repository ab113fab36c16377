"""The schema file that a site keeps to: its hospital's node config names it, for a simulated site the run does."""

from pathlib import Path
from typing import TYPE_CHECKING, Optional, cast

from clients.cache import cached
from clients.hospital import Hospital
from flower_pansvm.errors import SettingError

if TYPE_CHECKING:
    from flower_pansvm.table_schema import TableSchema


def schema_of(hospital: Hospital) -> Optional["TableSchema"]:
    """Return what the schema file says, None without one; SettingError if it cannot be read or used.

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
    return cast(TableSchema, cached(key, lambda: TableSchema.read(path)))
