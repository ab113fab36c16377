"""The copy of a table that all systems see at level `perturbed`: each cell was perturbed once, with a lasting key.

A measurement x becomes x + σ s N(0, 1), s the column's deviation at the site (Agrawal & Srikant 2000). A code (a
category, one of few numbers, a label, whether a cell is missing) is drawn anew, with probability r(σ), from the
site's own frequencies (Warner 1965). The copy is a function of key, record, column and cell: the same in each run, for
each system and coordinator, after a restart, in another order of rows or columns, and beside new rows.

- The draws follow from the cell, too: a changed cell has an independent copy, so that the difference of two copies does
  not tell x - f(x). Both together are worth σ/√2, once for each value that the cell had; one that comes back has its
  old copy. Where a whole column has changed, or the ids have moved, the table is refused
  (:mod:`clients.perturb.rules`).
- A cell is its number in single precision, as in the ledger's digests: the same in all formats of a file. Equal copies
  tell that two cells are equal to a part in 10^7. What lies between two such numbers, a cell in 10^8, may be either one
  with 15 digits, and of nine digits one in a hundred: it has two copies, as a corrected one.
- With an id, a corrected cell changes itself alone. Without one a record is known by all its features: equal ones have
  equal copies, but for their labels, and a corrected one gets a second copy of all its cells. So the table is refused
  where a twentieth of the records has changed at once, or a quarter in all, or a twentieth of a column has.
- Deviations, frequencies and ends of columns are settled at first use, and tell no record
  (:mod:`clients.perturb.settling`). Draws depend on what is settled: one draw with two deviations would be two
  equations for x.
- Ends are pulled in after the noise: a copy beyond the end that min-cluster copies share is the end.
- The copy with more noise is made of the one with less: both together tell no more than the one with less.
- The bits of a float can tell x (Mironov 2012). So the copy is rounded to a multiple of a power of 2, about 2^-20
  deviations. Its distribution over them differs by less than 2^-28 from a rounded normal one, whatever x is. Were it a
  multiple of a share of the deviation, copies would tell exact deviation and mean: all but one record's, that one.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from clients.classes import allowed_classes
from clients.hospital import Hospital
from clients.ledger.lasting_split import key_of
from clients.perturb.draws import (
    PerturbedTerms,
    bits_of_cells,
    bits_of_labels,
    blocks_of,
    features_of,
    label_codes,
    perturbed,
    units_of,
    words_of,
)
from clients.perturb.settling import check_settled, plain, settled_of
from clients.state_folder import state_folder
from clients.table.opening import label_column
from clients.table.simulated import simulated_tables
from clients.table.source import schema_of
from clients.table.table import Table
from flower_pansvm.errors import SettingError
from flower_pansvm.labels import spelling
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import NOISES


def public_classes(hospital: Hospital) -> tuple[str, ...]:
    """Return the labels that are known of all sites: those that the hospital lists; of a simulated site the run's."""
    if hospital.simulated and not allowed_classes(hospital):
        return simulated_tables().labels_of_run(hospital.terms.config)
    return allowed_classes(hospital)


def copy_of(hospital: Hospital, table: Table) -> Table:
    """Return the copy of a hospital's true table, with the run's noise."""
    terms = PerturbedTerms(
        hospital.terms.noise, hospital.policy.min_cluster, public_classes(hospital), hospital.simulated
    )
    return perturbed_table(table, label_column(hospital), schema_of(hospital), terms, key_of(hospital))


def check_copy(hospital: Hospital, table: Table) -> None:
    """Raise the error that a run at level `perturbed` would end with for a true table, and settle nothing."""
    terms = PerturbedTerms(hospital.terms.noise, hospital.policy.min_cluster, public_classes(hospital))
    table, _ = _spelt_alike(table)
    check_settled(table, label_column(hospital), schema_of(hospital), terms, state_folder(hospital))


def perturbed_table(
    table: Table, label: str, schema: TableSchema | None, terms: PerturbedTerms, key: Path | bytes
) -> Table:
    """Return the copy of a table.

    Parameters
    ----------
    table : Table
        The true records; their ids, if it has any, tell them apart.
    label : str
        Name of the label column, which the hospital chooses and not the coordinator: another one with other labels is
        a second set of codes beside the same features.
    schema : TableSchema or None
        Which columns of 0 and 1 are one category, what is missing, and what is public of the columns.
    terms : PerturbedTerms
        What is settled already stays, whatever its min-cluster says now.
    key : Path or bytes
        The hospital's folder, which leads to key and deviations; of a simulated site the key itself.

    Raises
    ------
    SettingError
        If the noise is not one of `NOISES`.
    BudgetError
        If the table's ledger is missing, damaged or of an older kind.
    TableError
        If ids repeat or are row numbers, there are too few records, or the table is not the one whose copy was begun.
    """
    if terms.noise not in NOISES:
        raise SettingError(f"The noise of level perturbed has to be one of {', '.join(map(str, NOISES))}.")
    table, written = _spelt_alike(table)
    kept = settled_of(table, label, schema, terms, key)
    label = kept.names.get(plain(label), "")
    X, labels = np.empty(table.X.shape), table.labels
    units, secret, words = units_of(table, schema), kept.secret(), []
    for rows, cells, records in blocks_of(table, units):
        bits, of_block = bits_of_cells(cells, units), words_of(secret, records, len(units), terms.noise)
        X[rows] = features_of(perturbed(cells, bits, kept.features, secret, of_block, terms.noise), units)
        words.append(of_block[..., :1])
    if labels is not None:
        settled, first = kept.labels[label], np.concatenate(words)
        codes = label_codes(labels, settled)
        as_numbers = replace(settled, values=range(len(settled.values)))
        bits = bits_of_labels(labels, first[:, 0, 0])
        drawn = perturbed(codes, bits, [as_numbers], kept.secret(label), first, terms.noise)
        labels = np.array(settled.values, dtype=np.str_)[drawn[:, 0].astype(np.int64)]
        names, inverse = np.unique(labels, return_inverse=True)
        labels = np.array([written.get(text, text) for text in names.tolist()])[inverse]
    return replace(table, X=X, labels=labels)


def _spelt_alike(table: Table) -> tuple[Table, dict[str, str]]:
    """Return a table with the one spelling of each label, and how the table writes them.

    Another schema file may spell classes otherwise: then labels of these, and no others, were drawn once more.
    """
    if table.labels is None:
        return table, {}
    names, inverse = np.unique(table.labels, return_inverse=True)
    spelt = np.array([*map(spelling, names)])
    return replace(table, labels=spelt[inverse]), dict(zip(spelt.tolist(), names.tolist(), strict=True))
