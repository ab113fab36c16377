"""What is told of a site's labels: names of classes to the coordinator; rows without a part to the hospital's own log.

No error shows a label; the log may count rows.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np

from clients.classes import Labels, allowed_classes, eligible_rows
from clients.hospital import Hospital
from clients.label_check import check_positive, patients_of_labels
from clients.patients import patient_numbers
from clients.table.opening import label_place
from clients.table.table import Table
from flower_pansvm import records
from flower_pansvm.labels import SPELLING, misspelt
from flower_pansvm.log import logger
from flower_pansvm.schema import class_names

LOGGED = "left-out-logged"


def disclosed_classes(hospital: Hospital, table: Table, positive: Sequence[str]) -> Labels:
    """Return the names of classes that a site discloses to the coordinator, sorted.

    They are those that at least the hospital's ``min-cluster`` of its patients have; a rarer one takes part if another
    hospital names it. If the node config lists ``classes``, they are these, whatever the table holds.
    """
    allowed = allowed_classes(hospital)
    if allowed:
        column = f"list 'classes' in the node config of site '{hospital.name}'"
        check_positive(allowed, positive, column)
        return np.unique(class_names(allowed, positive))
    labels, patients = cast(Labels, table.labels), patient_numbers(table)
    eligible = eligible_rows(hospital, table, positive)
    names, counts = patients_of_labels(class_names(labels[eligible], positive), patients[eligible])
    return names[counts >= hospital.least_patients]


def log_left_out_rows(hospital: Hospital, left_out: Labels, named: Sequence[str]) -> None:
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
    logger.warning(
        "Site '%s' leaves out %d rows in this run: by the %s, %s%s",
        *(hospital.name, len(left_out), label_place(hospital), reason, hint),
    )
