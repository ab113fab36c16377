"""A site's classes: the labels that its hospital lists, in node config or schema file, or those of enough patients.

Other labels' rows take no part. No error shows a label. What of labels is told: :mod:`clients.labels_told`.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from clients.hospital import Hospital
from clients.patients import patient_numbers
from clients.table.source import schema_of
from clients.table.table import Table
from flower_pansvm.arrays import Bools
from flower_pansvm.errors import NOT_FOLLOWED, SettingError
from flower_pansvm.lists import join_list, split_list
from flower_pansvm.schema import class_names

Labels = NDArray[np.str_]


def allowed_classes(hospital: Hospital) -> tuple[str, ...]:
    """Return the labels that the hospital allows to be known, in canonical form; empty if it lists none."""
    return _labels_of(hospital, "classes")


def positive_labels(hospital: Hospital) -> tuple[str, ...]:
    """Return the labels that count as positive at a hospital, in canonical form; empty if it names none."""
    return _labels_of(hospital, "positive")


def _labels_of(hospital: Hospital, key: str) -> tuple[str, ...]:
    """Return the labels that the node config lists under a key, or else the schema file."""
    text = getattr(hospital.policy, key)
    if not text:
        schema = schema_of(hospital)
        return getattr(schema, key) if schema else ()
    # Most hospitals have their labels in the schema file.
    from flower_pansvm.labels import LABEL_RULE, MOST_CLASSES, can_be_listed, canonical_label  # noqa: PLC0415

    labels = tuple(canonical_label(label) for label in split_list(text))
    if not labels or len(set(labels)) > MOST_CLASSES or not all(map(can_be_listed, labels)):
        raise SettingError(
            f"The '{key}' in the node config of site '{hospital.name}' are no list of labels. Write them with "
            f"commas between them, such as {key}='0,1', and one that holds a comma in double quotes. Labels are "
            f"{LABEL_RULE}, and at most {MOST_CLASSES}."
        )
    return labels


def check_classes(hospital: Hospital, classes: Sequence[str], positive: Sequence[str]) -> None:
    """Check that a run has the classes and positive labels that this hospital lists; else SettingError.

    Other classes than it lists, if it lists any, or one of them twice, would be the coordinator's choice: of names, and
    of how many there are, which a site's memory depends on. Other positive labels would be its choice of rows, whose
    sums it would get.
    """
    listed_positive, allowed = positive_labels(hospital), allowed_classes(hospital)
    if set(positive) != set(listed_positive):
        start = f"positive='{join_list(listed_positive)}'" if listed_positive else "no 'positive'"
        raise SettingError(
            f"Site '{hospital.name}' takes part in runs only with the positive labels that it names itself. Start "
            f"the run with {start}; or, if the hospitals agree to others, write them into the schema file that they "
            "and the run share, such as positive = [1, 2] beside the classes, or into the site's node config, such as "
            "positive='1,2'."
        )
    if allowed and not set(classes) <= set(class_names(np.array(allowed), positive)):
        raise SettingError(
            f"Site '{hospital.name}' takes part in runs with the classes only that it lists itself. Start the run "
            "with the hospitals' own schema file; or write the classes into the site's node config, such as "
            "classes='0,1'."
        )
    if len(set(classes)) < len(classes):
        raise SettingError(f"Site '{hospital.name}' received a class twice. {NOT_FOLLOWED}")


def eligible_rows(hospital: Hospital, table: Table, positive: Sequence[str]) -> Bools:
    """Return the mask of a site's rows that may take part, shape (rows,), as far as the site itself decides it.

    Not those whose label the hospital does not list, and not those that only their spelling keeps from being positive.
    TableError if it lists none and the labels cannot be classes.
    """
    allowed, labels = allowed_classes(hospital), cast(Labels, table.labels)
    eligible = np.isin(labels, list(allowed)) if allowed else np.ones(len(labels), dtype=np.bool_)
    if not allowed:
        from clients.label_check import check_labels  # noqa: PLC0415 - most hospitals list their labels
        from clients.table.opening import label_place  # noqa: PLC0415 - as above

        least = hospital.least_patients
        check_labels(labels, positive, label_place(hospital), least, patient_numbers(table))
    if positive:
        from flower_pansvm.labels import misspelt  # noqa: PLC0415 - as above

        eligible &= ~np.isin(labels, misspelt(np.unique(labels), positive))
    return eligible
