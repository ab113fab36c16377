"""Opening a site's table, from its file or from a simulation's data set; its version, and its label column."""

import hashlib
from collections.abc import Hashable
from pathlib import Path

from clients.hospital import Hospital
from clients.table.form import TableForm
from clients.table.reading import read_table, read_whole_file
from clients.table.simulated import simulated_tables
from clients.table.source import is_queried, schema_of, table_identity
from clients.table.table import LABEL, Table
from flower_pansvm.errors import TableError
from flower_pansvm.reading_options import ReadingOptions
from flower_pansvm.secure_sum.tags import join_fields


def open_table(hospital: Hospital, *, whole_file: bool = False) -> Table:
    """Read a site's table: a hospital's as its policy says, of a simulated site its part of the run's data set.

    With ``whole_file`` also the columns that a hospital's schema file leaves out. TableError if it cannot be read.
    """
    if hospital.partition is not None:
        return simulated_tables().table_of_node(hospital.terms.config, *hospital.partition)
    policy = hospital.policy
    if not policy.data:
        raise TableError(
            'The node config names no table. Write data = "/path/to/table.csv" and label = "COLUMN" into node.toml.'
        )
    path = Path(policy.data)
    form = TableForm.of(policy.part(ReadingOptions).said, schema_of(hospital))
    if whole_file:
        return read_whole_file(path, form)
    return read_table(path, policy.label or None, policy.row_id or None, form)


def open_unchanged(hospital: Hospital, identity: Hashable) -> tuple[Table, str]:
    """Read the table of an identity; TableError if it cannot be read, or has another one when that is done.

    With its version, which stays until somebody changes it: of a file its time and length. The answer of a query or of
    a function has no such mark: it is a digest of that.
    """
    table = open_table(hospital)
    if table_identity(hospital) != identity:
        raise TableError(
            f"The table of site '{hospital.name}' was changed while it was read. Leave it as it is while a run goes "
            "on, and start a new run."
        )
    mark = digest(table) if is_queried(hospital.policy.data) else identity
    return table, hashlib.sha256(repr(mark).encode()).hexdigest()


def digest(table: Table) -> bytes:
    """Return a digest of all that is in a table."""
    hasher = hashlib.sha256(join_fields(*(column.encode() for column in table.columns)))
    hasher.update(repr(table.X.shape).encode())
    for start in range(0, len(table.X), 100_000):
        hasher.update(table.X[start : start + 100_000].astype("<f8").tobytes())
    for texts in (table.labels, table.ids, table.patients):
        hasher.update(b"none" if texts is None else join_fields(*map(str.encode, texts.tolist())))
    return hasher.digest()


def label_place(hospital: Hospital) -> str:
    """Return column and file of a site's labels, for errors; the file without its folder."""
    if hospital.partition is not None:
        return simulated_tables().label_place_of_node(hospital.terms.config, hospital.partition[0])
    return f"column '{label_column(hospital)}' of '{Path(hospital.policy.data).name}'"


def label_column(hospital: Hospital) -> str:
    """Return the name of the column that a site's labels are from; of a simulated site any that stays the same."""
    schema = schema_of(hospital)
    return hospital.policy.label or (schema and schema.label) or LABEL
