"""Opening a site's table, from its file or from a simulation's data set."""

from collections.abc import Hashable
from pathlib import Path

from clients.hospital import Hospital
from clients.table.form import TableForm
from clients.table.reading import read_table, read_whole_file
from clients.table.simulated import simulated_tables
from clients.table.source import schema_of, table_identity
from clients.table.table import Table
from flower_pansvm.errors import TableError
from flower_pansvm.reading_options import ReadingOptions


def open_table(hospital: Hospital, *, whole_file: bool = False) -> Table:
    """Read a site's table: a hospital's as its policy says, of a simulated site its part of the run's data set.

    With ``whole_file`` all columns of a hospital's file, those that its schema file leaves out, too.
    """
    if hospital.partition is not None:
        return simulated_tables().table_of_node(hospital.terms.config, *hospital.partition)
    policy = hospital.policy
    if not policy.data:
        raise TableError(
            "This site's node config names no table. Start the SuperNode with "
            '--node-config \'data="/path/to/table.csv" label="COLUMN" name="SITE"\'.'
        )
    path = Path(policy.data)
    form = TableForm.of(policy.part(ReadingOptions).said, schema_of(hospital))
    if whole_file:
        return read_whole_file(path, form)
    return read_table(path, policy.label or None, policy.row_id or None, form)


def open_unchanged(hospital: Hospital, identity: Hashable) -> Table:
    """Read the table of an identity; TableError if it cannot be read, or has another one when that is done."""
    table = open_table(hospital)
    if table_identity(hospital) != identity:
        raise TableError(
            f"The table of site '{hospital.name}' was changed while it was read. Leave it as it is while a run goes "
            "on, and start a new run."
        )
    return table
