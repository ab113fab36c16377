"""The table as a level shows it: the true one, or at `perturbed` its copy, which is then all that a system sees."""

from collections.abc import Callable, Hashable
from typing import cast

from clients.cache import cached_tables
from clients.hospital import Hospital
from clients.ledger.budget import link_table
from clients.ledger.lasting_split import key_of
from clients.state_folder import state_folder
from clients.table.schema_file import schema_of
from clients.table.source import keep_perturbed, label_column, open_table, table_identity, table_version
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
    key = table_identity(hospital), seen_at(hospital, level), hospital.policy.classes, "copy"
    return cast(Table, cached_tables(key, lambda: _copy(hospital, table)))


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


def _copy(hospital: Hospital, table: Table) -> Table:
    from clients.perturb import PerturbedTerms, perturbed_table  # noqa: PLC0415 - other levels need none

    terms = PerturbedTerms(hospital.terms.noise, hospital.policy.min_cluster)
    label, version = label_column(hospital), str(hospital.kept("table"))

    def keep(settled: str, make: Callable[[], Table]) -> Table:
        about = [version, label, str(terms.noise), settled]
        return keep_perturbed(hospital, table.X.size, about, make)

    return perturbed_table(table, label, schema_of(hospital), terms, key_of(hospital), keep)
