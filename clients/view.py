"""The table as a level shows it: the true one, or at `perturbed` its copy, which is then all that a system sees."""

from collections.abc import Hashable
from typing import cast

from clients.cache import cached_tables
from clients.hospital import Hospital
from clients.ledger.budget import link_table
from clients.state_folder import state_folder
from clients.table.source import open_table, table_identity, table_version
from clients.table.table import Table
from flower_pansvm.errors import TableError


def table_at(hospital: Hospital, level: str) -> Table:
    """Return the whole table that a level shows.

    Raises
    ------
    TableError
        If it cannot be read, or there can be no copy of it.
    FederationError
        If it is no more what it was when the run began. Sums before a change and after it would differ in the rows that
        have changed.
    """
    table = true_table(hospital)
    if level != "perturbed":
        return table
    from clients.perturb import copy_of  # noqa: PLC0415 - loaded only at level perturbed

    key = table_identity(hospital), seen_at(hospital, level), hospital.policy.classes, "copy"
    return cast(Table, cached_tables(key, lambda: copy_of(hospital, table)))


def seen_at(hospital: Hospital, level: str) -> Hashable:
    """Return what tells apart what a process keeps of a table at different levels, and of copies with other noise."""
    return level, hospital.terms.noise if level == "perturbed" else 0.0


def true_table(hospital: Hospital) -> Table:
    """Return the true records, whatever the level; raises as :func:`table_at` does."""
    identity = table_identity(hospital)
    table = cast(Table, cached_tables((identity, "table"), lambda: _read(hospital, identity)))
    version = cached_tables((identity, "table version"), lambda: table_version(hospital, table))
    refusal = (
        "to go on: its table has changed since the run began. Put back, it can go on; as it is now it cannot"
    )
    hospital.settle("table", version, refusal)
    return table


def link_own_table(hospital: Hospital) -> None:
    """Find the ledger of a hospital's table as it joins a run; BudgetError if there is none, or another's."""
    folder = state_folder(hospital)
    if folder is not None:
        link_table(folder, true_table(hospital))


def _read(hospital: Hospital, identity: Hashable) -> Table:
    table = open_table(hospital)
    if table_identity(hospital) != identity:
        raise TableError(
            f"The table of site '{hospital.name}' was changed while it was read. Leave it as it is while a run goes "
            "on, and start a new run."
        )
    return table
