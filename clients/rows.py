"""A site's rows in a run: the table at the run's level, split into training rows and test rows, and their folds.

Which table a system gets is decided here, in :func:`table_at`: the true one, or at `perturbed` its copy. A hospital's
rows are the same in all runs (:mod:`clients.ledger.lasting_split`); those of a simulated site are drawn
(:mod:`clients.simulated`).
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from clients.cache import cached_tables
from clients.classes import check_listed, rows_with_classes
from clients.hospital import Hospital
from clients.ledger.lasting_split import lasting_split
from clients.ledger.ledger import link_table
from clients.state_folder import state_folder
from clients.table.source import open_table, table_identity, table_version
from clients.table.table import Table, align, digest
from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.errors import TableError
from flower_pansvm.schema import Schema, class_names
from flower_pansvm.systems.common import SchemaBroadcast
from flower_pansvm.tasks import MOST_ROWS

CHANGED = "to go on: its table has changed since the run began. Put back, it can go on"


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

    return cast(Table, cached_tables((table_key(hospital, level), "copy"), lambda: copy_of(hospital, table)))


def table_key(hospital: Hospital, level: str) -> Hashable:
    """Return what tells the table that a level shows from all others that this process may have in memory."""
    noise = hospital.terms.noise if level == "perturbed" else 0.0
    return table_identity(hospital), level, noise, hospital.policy.classes


def true_table(hospital: Hospital) -> Table:
    """Return the true records, whatever the level; raises as :func:`table_at` does."""
    identity = table_identity(hospital)
    table = cast(Table, cached_tables((identity, "table"), lambda: _read(hospital, identity)))
    version = cached_tables((identity, "table version"), lambda: table_version(hospital, table))
    hospital.require_same("table", version, CHANGED)
    return table


def link_own_table(hospital: Hospital) -> None:
    """Find the ledger of a table that joins a run; BudgetError as `link_table`, FederationError if it has changed."""
    folder = state_folder(hospital)
    if folder is not None:
        link_table(folder, table := true_table(hospital))
        hospital.require_same("content", digest(table).hex(), CHANGED)


def _read(hospital: Hospital, identity: Hashable) -> Table:
    table = open_table(hospital)
    if table_identity(hospital) != identity:
        raise TableError(
            f"The table of site '{hospital.name}' was changed while it was read. Leave it as it is while a run goes "
            "on, and start a new run."
        )
    return table


@dataclass(frozen=True)
class Rows:
    """Some of a site's rows."""

    X: Floats  # (rows, features): the cells in the table's own units; NaN is a missing cell
    classes: Ints  # (rows,): class index of each row


@dataclass(frozen=True)
class Split:
    """A site's rows in a run."""

    train: Rows
    test: Rows  # kept for evaluation
    left_out: NDArray[np.str_]  # labels of the rows that have no part in the run: they are no classes of it
    places: Ints  # (training rows,): in the order in which they are dealt to folds


def split_rows(hospital: Hospital, level: str, told: SchemaBroadcast, own: Bools) -> Split:
    """Split the table that a level shows.

    Parameters
    ----------
    hospital : Hospital
        Whose table it is.
    level : str
        The level.
    told : SchemaBroadcast
        Columns and classes of the run, and the share of rows that is kept for evaluation.
    own : ndarray of shape (columns,)
        Which of these columns the site has.

    Raises
    ------
    TableError
        If there are too many rows or too few, or the columns are others.
    SettingError
        If the classes or the share are not those that the hospital has settled on.
    """
    schema = Schema(told.columns, told.classes, told.positive_labels)
    true, seen = true_table(hospital), table_at(hospital, level)
    labels = cast(NDArray[np.str_], seen.labels)
    if len(labels) > MOST_ROWS:
        raise TableError(
            f"Site '{hospital.name}' has more rows than a site may have, {MOST_ROWS}. Split the table."
        )
    classes, folder = schema.indices(labels), state_folder(hospital)
    known = (classes >= 0) & rows_with_classes(hospital, labels, schema.positive_labels)
    # Among all rows, so that it does not depend on which classes other sites name.
    places = np.zeros(len(labels), dtype=np.int64)
    if folder is None:
        from clients.simulated import sites_module  # noqa: PLC0415 - no hospital's rows are drawn

        names = class_names(cast(NDArray[np.str_], true.labels), schema.positive_labels)
        kept = sites_module().test_rows(names, told.test_fraction, told.seed)
        dealt = classes[known & ~kept]
        places[known & ~kept] = sites_module().fold_numbers(dealt, len(dealt), told.seed)
    else:
        check_listed(hospital, schema.classes, schema.positive_labels)
        kept, digests = lasting_split(folder, true, told.test_fraction)
        dealt = np.flatnonzero(~kept)
        places[dealt[np.lexsort((digests[dealt], labels[dealt]))]] = np.arange(len(dealt))
    train, test, tested, tested_classes = known & ~kept, known & kept, seen, classes
    if folder is None and level == "perturbed":
        # Only a researcher may know how a model does on the true records: the same ones as at every level.
        tested, tested_classes = true, schema.indices(cast(NDArray[np.str_], true.labels))
        test = kept & (tested_classes >= 0)
    left, least = int(np.count_nonzero(train)), hospital.least_rows
    # At dp a refusal must not tell how many there are.
    if left < least and level != "dp":
        raise TableError(
            f"Site '{hospital.name}' has too few rows: it trains on at least {least}, its min-cluster. Has the table "
            "all its rows, with labels that are classes of the run? Else lower test-fraction, or min-cluster in the "
            "site's node config if the hospital agrees.",
            detail=f"It would train on {left} rows.",
        )
    columns = [column for column, has in zip(schema.columns, own, strict=True) if has]
    if folder is not None and level == "perturbed" and own.all():
        # The file's order may be that of a true column, and sums over some rows, or their rounding, depend on the
        # order. Hospitals that have other columns of the same rows need that of the ids.
        order = np.lexsort((classes, digests))
        train, test = (order[rows[order]] for rows in (train, test))

    def cells(table: Table, rows: Bools | Ints) -> Floats:
        return align(replace(table, X=table.X[rows]), columns).X

    return Split(
        train=Rows(cells(seen, train), classes[train]),
        test=Rows(cells(tested, test), tested_classes[test]),
        left_out=labels[~known],
        places=places[train],
    )
