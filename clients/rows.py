"""A site's rows in a run: the table at the run's level, split into training rows and test rows, and their folds.

Which table a system gets is decided here, in :func:`table_at`: the true one, or at `perturbed` its copy. A hospital's
rows are the same in all runs (:mod:`clients.ledger.lasting_split`); those of a simulated site are drawn
(:mod:`clients.table.simulated`).
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from clients.cache import cached_tables
from clients.classes import check_classes, eligible_rows
from clients.hospital import Hospital
from clients.ledger.lasting_split import lasting_split
from clients.patients import at_most, count_patients, patient_numbers
from clients.state_folder import state_folder
from clients.table.source import table_identity
from clients.table.table import Table, align
from flower_pansvm import records
from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.errors import TableError
from flower_pansvm.schema import Schema
from flower_pansvm.systems.common import SchemaBroadcast
from flower_pansvm.tasks import MOST_ROWS


def table_at(hospital: Hospital, level: str) -> Table:
    """Return the whole table that a level shows.

    TableError if it cannot be read, or there can be no copy of it. FederationError if it has changed since the run
    began: sums before a change and after it would differ in the rows that have changed.
    """
    from clients.ledger.tables import link_own_table  # noqa: PLC0415 - once a run, or a process

    table = true_table(hospital)
    # What a system sees settles how records are told apart, before a copy begins.
    link_own_table(hospital, table)
    if level != "perturbed":
        return table
    from clients.perturb import copy_of  # noqa: PLC0415 - loaded only at level perturbed

    return cached_tables((table_key(hospital, level), "copy"), lambda: copy_of(hospital, table))


def table_key(hospital: Hospital, level: str) -> Hashable:
    """Return the cache key of the site's table at a level: with all terms of the run by which its rows differ."""
    terms, ledger = hospital.terms, records.get_one(hospital.state, "first.ledger", "value")
    of_run = {"perturbed": terms.noise, "dp": terms.rows_per_patient}.get(level)
    return table_identity(hospital), level, of_run, hospital.policy.classes, ledger


def true_table(hospital: Hospital) -> Table:
    """Return the true records, whatever the level; raises as :func:`table_at` does."""
    identity = table_identity(hospital)

    def read() -> tuple[Table, str]:
        from clients.table.opening import open_unchanged  # noqa: PLC0415 - it brings pandas

        return open_unchanged(hospital, identity)

    table, version = cached_tables((identity, "table"), read)
    refusal = "to go on: its table has changed since the run began. With the old table the run can go on"
    hospital.require_same("table", version, refusal)
    return table


@dataclass(frozen=True)
class Rows:
    """Some of a site's rows."""

    X: Floats  # (rows, features): the cells in the table's own units; NaN is a missing cell
    classes: Ints  # (rows,): class index of each row
    # (rows,): number of each row's patient; of training rows, but at dp, its place in the order in which patients are
    # dealt to folds.
    patients: Ints


@dataclass(frozen=True)
class Split:
    """A site's rows in a run."""

    train: Rows
    test: Rows  # kept for evaluation
    left_out: NDArray[np.str_]  # labels of the rows that have no part in the run: they are no classes of it


def split_rows(hospital: Hospital, level: str, broadcast: SchemaBroadcast, own_columns: Bools) -> Split:
    """Split the table that a level shows.

    ``own_columns``, shape (columns,), are those of the run's columns that the site has. TableError if there are too
    many rows or too few, or the columns are others. SettingError if the classes, or the share of rows for evaluation,
    are not those that the hospital has settled on.
    """
    schema = Schema(broadcast.columns, broadcast.classes, broadcast.positive_labels)
    true_rows, view = true_table(hospital), table_at(hospital, level)
    labels = cast(NDArray[np.str_], view.labels)
    if len(labels) > MOST_ROWS:
        raise TableError(
            f"Site '{hospital.name}' has more rows than a site may have, {MOST_ROWS}. Split the table."
        )
    classes, patients = schema.indices(labels), patient_numbers(true_rows)
    eligible = (classes >= 0) & eligible_rows(hospital, view, schema.positive_labels)
    if hospital.simulated:
        from clients.table.simulated import simulated_split  # noqa: PLC0415 - no hospital's rows are drawn

        split = simulated_split(hospital, true_rows, patients, broadcast)
        in_folds, strata = eligible & ~split.held_out, cast(NDArray[Any], classes)
    else:
        check_classes(hospital, schema.classes, schema.positive_labels)
        split = lasting_split(state_folder(hospital), true_rows, broadcast.test_fraction)
        # Among all rows, so that it does not depend on which classes other sites name.
        in_folds, strata = ~split.held_out, cast(NDArray[Any], labels)
    held_out, numbers, used = split.held_out, patients.copy(), eligible.copy()
    if level == "dp":
        used[eligible] = at_most(hospital.terms.rows_per_patient, patients[eligible], split.numbers[eligible])
    else:
        from clients.dealing import fold_order  # noqa: PLC0415 - at dp there are no folds

        numbers[in_folds] = fold_order(
            strata[in_folds], patients[in_folds], split.of_patients[in_folds], split.fold_start
        )
    train, test, test_table, test_classes = used & ~held_out, used & held_out, view, classes
    if hospital.simulated and level == "perturbed":
        # Only a researcher may know a model's accuracy on the true records: the same ones as at every level.
        test_table, test_classes = true_rows, schema.indices(cast(NDArray[np.str_], true_rows.labels))
        test = held_out & (test_classes >= 0)
    remaining, least = count_patients(patients[train]), hospital.least_patients
    # At dp a refusal must not reveal how many there are.
    if remaining < least and level != "dp":
        raise TableError(
            f"Site '{hospital.name}' has too few patients: it trains on at least {least}, its min-cluster. Has the "
            "table all its rows, with labels that are classes of the run? Else lower test-fraction, or min-cluster in "
            "the site's node config if the hospital agrees.",
            detail=f"It would train on the rows of {remaining} patients.",
        )
    columns = [column for column, present in zip(schema.columns, own_columns, strict=True) if present]
    if not hospital.simulated and level == "perturbed":
        # The file's order may be that of a true column, and sums over some rows, or their rounding, depend on it.
        order = np.lexsort((classes, split.numbers))
        train, test = (order[rows[order]] for rows in (train, test))

    def cells(table: Table, rows: Bools | Ints) -> Floats:
        return align(replace(table, X=table.X[rows]), columns).X

    return Split(
        train=Rows(cells(view, train), classes[train], numbers[train]),
        test=Rows(cells(test_table, test), test_classes[test], patients[test]),
        left_out=labels[~eligible],
    )
