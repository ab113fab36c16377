"""What all sites must agree on before anything is computed: the columns and the classes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Ints

NEGATIVE, POSITIVE = "negative", "positive"
"""Names of the two classes when the user says which labels count as positive."""

LIBSVM_COLUMN = re.compile(r"f[1-9][0-9]*")
"""Names of the columns of LIBSVM text, which leaves out zeros and so a last column of nothing else."""


def class_names(labels: Iterable[str], positive_labels: Sequence[str]) -> NDArray[np.str_]:
    """Return the class of each row: its label, or positive/negative if any labels count as positive."""
    names = labels if isinstance(labels, np.ndarray) else np.array(list(labels), dtype=np.str_)
    if not positive_labels:
        return names
    return np.where(np.isin(names, list(positive_labels)), POSITIVE, NEGATIVE)


@dataclass(frozen=True)
class Schema:
    """Columns and classes of the federation."""

    columns: tuple[str, ...]  # features in the order in which every site uses them
    # Their names; numbers in the order of numbers, else sorted; of two the positive one is last.
    classes: tuple[str, ...]
    positive_labels: tuple[str, ...] = ()  # empty if the classes are the labels themselves
    # The schema file by which sites made these columns of their tables, as `TableSchema.text`; empty without one.
    table: str = ""

    @property
    def positive_class(self) -> str | None:
        """The class that sensitivity, predictive values, F1 and ROC are about; None with more than two."""
        return self.classes[1] if len(self.classes) == 2 else None

    def indices(self, labels: Iterable[str]) -> Ints:
        """Return the class index of each label, -1 for a label that is no class of the federation."""
        names = class_names(labels, self.positive_labels)
        codes = np.full(len(names), -1)
        for index, name in enumerate(self.classes):
            codes[names == name] = index
        return codes
