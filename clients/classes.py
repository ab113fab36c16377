"""The labels that a site discloses: names of classes that enough of its patients have, or a list fixed beforehand.

A label column chosen by mistake may hold the patients' names. So a column whose values do not look like classes is
refused before anything leaves, and no error shows a label; the hospital's own log may count rows.
"""

from collections.abc import Iterable, Sequence
from logging import WARNING
from typing import cast

import numpy as np
from numpy.typing import NDArray

from clients.hospital import Hospital
from clients.listed_classes import allowed_classes
from clients.patients import patient_numbers, patients_of_labels
from clients.table.source import label_place
from clients.table.table import Table
from flower_pansvm import records
from flower_pansvm.arrays import Bools, Ints
from flower_pansvm.errors import TableError
from flower_pansvm.labels import (
    LABEL_RULE,
    MOST_CLASSES,
    SPELLING,
    can_be_class,
    misspelt,
    spelling,
)
from flower_pansvm.log import log
from flower_pansvm.schema import class_names

LOGGED = "left-out-logged"
Labels = NDArray[np.str_]


def public_classes(hospital: Hospital) -> tuple[str, ...]:
    """Return the labels that are known of all sites: those that the hospital lists; of a simulated site the run's."""
    if hospital.simulated and not allowed_classes(hospital):
        from clients.table.simulated import simulated_tables  # noqa: PLC0415 - a hospital has its list or none

        return simulated_tables().labels_of_run(hospital.terms.config)
    return allowed_classes(hospital)


def check_labels(
    labels: Labels, positive: Sequence[str], column: str, least: int, patients: Ints | None = None
) -> None:
    """Check that a table's labels can be classes.

    Where ``positive`` names labels, the classes are two and no label leaves, so that it only has to be clear which rows
    are positive.

    An error about a misspelt label reveals that it is there, so it has to be that of at least ``least`` patients, whose
    numbers are ``patients``: by default each row is one. ``column`` says column and file, for the TableError, which
    holds no label.
    """
    names, counts = patients_of_labels(labels, np.arange(len(labels)) if patients is None else patients)
    if positive:
        _check_positive(names[counts >= least], positive, column)
        return
    few, spellings = len(names) <= MOST_CLASSES, set(map(spelling, names))
    if few and len(spellings) < len(names):
        raise TableError(
            f"The {column} has two labels that differ only {SPELLING}. Most likely they mean the same: write them the "
            "same way; or name both in the setting 'positive', which makes one class of them."
        )
    if not few or not all(map(can_be_class, names)):
        raise TableError(
            f"The {column} does not hold classes. Labels are {LABEL_RULE}, and at most {MOST_CLASSES} different ones; "
            "dates, decimals and long numbers are not labels. Name the right column as label column; if it is the "
            "right one, name the labels that count as positive in the setting 'positive', which makes two classes of "
            "all; or list the labels to train on as 'classes' in the hospital's node config."
        )


def _check_positive(labels: Iterable[str], positive: Sequence[str], column: str) -> None:
    if misspelt(labels, positive):
        raise TableError(
            f"The {column} has a label that differs only {SPELLING}, from one that the setting 'positive' names, and "
            "would not count as positive. Name both in 'positive', or write them the same way."
        )


def rows_with_classes(hospital: Hospital, table: Table, positive: Sequence[str]) -> Bools:
    """Return which rows of a site may take part, as far as the site itself decides it: a mask of shape (rows,).

    Not those whose label the node config does not allow, and not those that only their spelling keeps from being
    positive. Unless the node config says what the classes are, :func:`check_labels` checks the labels.
    """
    allowed, labels = allowed_classes(hospital), cast(Labels, table.labels)
    if not allowed:
        column, least = label_place(hospital), hospital.least_patients
        check_labels(labels, positive, column, least, patient_numbers(table))
    names, indices = np.unique(labels, return_inverse=True)
    eligible = np.isin(names, list(allowed)) if allowed else np.ones(len(names), dtype=np.bool_)
    eligible &= ~np.isin(names, misspelt(names, positive))
    return eligible[indices]


def disclosed_classes(hospital: Hospital, table: Table, positive: Sequence[str]) -> Labels:
    """Return the names of classes that a site discloses to the coordinator, sorted.

    They are those that at least the hospital's ``min-cluster`` of its patients have; a rarer one takes part if another
    hospital names it. If the node config lists ``classes``, they are these, whatever the table holds.
    """
    allowed = allowed_classes(hospital)
    if allowed:
        column = f"list 'classes' in the node config of site '{hospital.name}'"
        _check_positive(allowed, positive, column)
        return np.unique(class_names(allowed, positive))
    labels, patients = cast(Labels, table.labels), patient_numbers(table)
    eligible = rows_with_classes(hospital, table, positive)
    names, counts = patients_of_labels(class_names(labels[eligible], positive), patients[eligible])
    return names[counts >= hospital.least_patients]


def log_left_out(hospital: Hospital, left_out: Labels, named: Sequence[str]) -> None:
    """Log, for the hospital itself, how many rows are left out for their labels; once in a run.

    ``named`` are the classes of the federation and the labels in ``positive``.
    """
    if records.has(hospital.state, LOGGED):
        return
    records.put(hospital.state, LOGGED, {})
    if allowed_classes(hospital):
        reason = "their label is not among the 'classes' of the node config, or no class of this run"
    else:
        least = hospital.least_patients
        named_by = f"a site names those that at least min-cluster={least} of its patients have"
        reason = f"their label is no class of this run ({named_by}, or all that the schema file lists)"
    hint = ""
    close = np.count_nonzero(np.isin(left_out, misspelt(np.unique(left_out), named)))
    if close:
        hint = f". The label of {close} of them differs from a class only {SPELLING}: check how it is written"
    log(
        WARNING,
        "Site '%s' leaves out %d rows in this run: by the %s, %s%s",
        *(hospital.name, len(left_out), label_place(hospital), reason, hint),
    )
