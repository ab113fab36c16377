"""The pooled rows of all simulated sites, for central baselines.

Test rows, folds, columns and classes are those of the federated run with the same settings.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from clients.dealing import fold_order
from clients.patients import patient_numbers
from clients.table.table import Table, align
from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.schema import Schema, class_names
from flower_pansvm.site_names import simulated_name
from flower_pansvm.systems.scaling import NO_FOLD
from simulations.data.sites import drawn_split, whole_rows_of
from strategies.settings import Settings
from strategies.steps.schema import common_schema


@dataclass(frozen=True)
class PooledRows:
    """Some rows of all sites, one site after the other."""

    X: Floats  # (rows, features): cells in the table's units; NaN is a missing cell
    classes: Ints  # (rows,): class index of each row
    # (rows,): fold of each training row; `NO_FOLD` for test rows, and if the run has no folds.
    folds: Ints
    # (rows,): number of the site that holds each row; of the row block where cells of a checkerboard do.
    sites: Ints
    patients: Ints  # (rows,): number of each row's patient, over all sites

    def of(self, chosen: Bools) -> "PooledRows":
        """Return the rows of a mask of shape (rows,)."""
        return PooledRows(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True)
class Pooled:
    """All rows of a federated run."""

    # train, test: the sites' training rows and test rows.
    train: PooledRows
    test: PooledRows
    schema: Schema  # columns and classes


def pooled(settings: Settings) -> Pooled:
    """Return the rows of all simulated sites of a run; PanSVMError if tables are unreadable, or do not fit together."""
    tables, positive = whole_rows_of(settings), settings.positive_labels
    schema = schema_of_tables(tables, positive)
    index_of = {name: index for index, name in enumerate(schema.classes)}
    train, test, before = [], [], 0
    for site, table in enumerate(tables):
        names = class_names(() if table.labels is None else table.labels, positive)
        classes = np.array([index_of[name] for name in names.tolist()], dtype=np.int64)
        patients = patient_numbers(table)
        split = drawn_split(names, patients, settings.test_fraction, settings.seed, site)
        trained, folds = ~split.held_out, np.full(len(names), NO_FOLD)
        if settings.folds:
            order = split.of_patients[trained]
            folds[trained] = fold_order(classes[trained], patients[trained], order, split.fold_start)
            folds[trained] %= settings.folds
        numbers, before = before + patients, before + int(patients.max(initial=-1)) + 1
        X = align(table, schema.columns).X
        rows = PooledRows(X, classes, folds, np.full(len(names), site), numbers)
        train.append(rows.of(trained))
        test.append(rows.of(split.held_out))
    return Pooled(_joined(train), _joined(test), schema)


def schema_of_tables(tables: Sequence[Table], positive: Sequence[str]) -> Schema:
    """Return the columns and classes that simulated sites with these tables agree on."""
    of_sites = {simulated_name(site): table for site, table in enumerate(tables)}
    labels = {site: () if table.labels is None else table.labels for site, table in of_sites.items()}
    return common_schema(
        {site: table.columns for site, table in of_sites.items()},
        {
            site: np.unique(class_names(site_labels, positive)).tolist()
            for site, site_labels in labels.items()
        },
        positive,
        [site for site, table in of_sites.items() if table.absent_is_zero],
    )


def _joined(parts: Sequence[PooledRows]) -> PooledRows:
    return PooledRows(
        *(np.concatenate([getattr(rows, field.name) for rows in parts]) for field in fields(PooledRows))
    )
