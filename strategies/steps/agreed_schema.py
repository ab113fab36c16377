"""The schema file that all sites and the run have agreed on: by its digest, which is all that a site tells of it."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from flower_pansvm.errors import SettingError
from flower_pansvm.table_schema import TableSchema


def agreed_schema(digests: Mapping[str, str], path: str) -> TableSchema | None:
    """Return the schema file by which the sites have read their tables, None if they have none.

    Parameters
    ----------
    digests : mapping of site name to str
        Digest of each site's schema file, empty without one.
    path : str
        The run's own; empty without one. Sites may be without where it only has ranges and classes.

    Raises
    ------
    SettingError
        If two sites have different ones, or the run has another than the sites.
    """
    run = TableSchema.read(Path(path)) if path else None
    having = [digest for digest in digests.values() if digest]
    if not having and (run is None or not run.changes_cells):
        return None
    wanted = run.digest if run else Counter(having).most_common(1)[0][0]
    there, whose = (
        ("other sites have one", "most other sites'") if run is None else ("the run has one", "the run's")
    )
    for site, digest in sorted(digests.items()):
        if not digest:
            raise SettingError(
                f"Site '{site}' has no schema file, and {there}. "
                "Give it the same file, and name it in its node config: schema='/an/absolute/path'."
            )
        if digest != wanted:
            raise SettingError(
                f"The schema file of site '{site}' says something else than "
                f"{whose}. All sites have to keep to one: give each "
                "the same file, and the run, too."
            )
    if run is None:
        raise SettingError(
            "The sites keep to a schema file, and the run does not name it. The model has to remember how they read "
            "their tables: start the run with the same file, schema='/an/absolute/path'."
        )
    return run
