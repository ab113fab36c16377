"""What all sites must agree on before anything is computed: the columns and the classes."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.errors import TableError
from flower_pansvm.labels import MOST_CLASSES, SPELLING, spelling
from flower_pansvm.setting_values import near_matches

NEGATIVE, POSITIVE = "negative", "positive"
"""Names of the two classes when the user says which labels count as positive."""

LIBSVM_COLUMN = re.compile(r"f[1-9][0-9]*")
"""Names of the columns of LIBSVM text, which leaves out zeros and so a last column of nothing else."""


def class_names(labels: Iterable[str], positive_labels: Sequence[str]) -> NDArray[np.str_]:
    """Return the class of each row: its label, or positive/negative if labels count as positive.

    Parameters
    ----------
    labels : iterable of str
        Label of each row.
    positive_labels : sequence of str
        Labels that count as positive; empty if the classes are the labels themselves.
    """
    names = np.array(list(labels), dtype=np.str_)
    if not positive_labels:
        return names
    return np.where(np.isin(names, list(positive_labels)), POSITIVE, NEGATIVE)


@dataclass(frozen=True)
class Schema:
    """Columns and classes of the federation.

    Parameters
    ----------
    columns : tuple of str
        Features in the order in which every site uses them.
    classes : tuple of str
        Class names, numbers in the order of numbers, else sorted.
    positive_labels : tuple of str
        Labels that count as positive; empty if the classes are the labels themselves.
    """

    columns: tuple[str, ...]
    classes: tuple[str, ...]
    positive_labels: tuple[str, ...] = ()

    @classmethod
    def agree(
        cls,
        columns: Mapping[str, Sequence[str]],
        classes: Mapping[str, Sequence[str]],
        positive_labels: Sequence[str] = (),
        absent_is_zero: Collection[str] = (),
    ) -> Self:
        """Return the common schema of all sites.

        The columns are in the order of the first site by name. If that site lacks any, it holds LIBSVM text, and the
        columns are in the order of their numbers.

        Parameters
        ----------
        columns, classes : mapping of site name to sequence of str
            What each site has. The order of columns may differ; a class may be missing at a site.
        positive_labels : sequence of str
            Labels that count as positive.
        absent_is_zero : collection of str
            Names of the sites with LIBSVM text, where a missing column ``f<number>`` is all zero.

        Raises
        ------
        TableError
            If a site lacks a column that another site has, two classes differ only in their spelling, or there are
            fewer than two classes or more than `MOST_CLASSES`.
        """
        everywhere = {column for names in columns.values() for column in names}
        for site in sorted(columns):
            missing = sorted(everywhere - set(columns[site]))
            if site in absent_is_zero:
                missing = [column for column in missing if not LIBSVM_COLUMN.fullmatch(column)]
            if missing:
                owner = next(name for name in sorted(columns) if missing[0] in columns[name])
                hint = near_matches(missing[0], columns[site]) if len(columns[site]) <= 1000 else ""
                raise TableError(
                    f"Site '{site}' has no column '{missing[0]}', which site '{owner}' has"
                    f"{f' (and {len(missing) - 1} more columns are missing)' if len(missing) > 1 else ''}. All sites "
                    f"need the same columns: add it at '{site}' (empty cells are allowed), or remove it elsewhere. "
                    f"If it has another name there: {hint}".rstrip(": ")
                )
        _check_spellings(classes)
        found = {name for names in classes.values() for name in names}
        if len(found) < 2:
            what = f"only the class '{next(iter(found))}'" if found else "no class"
            reason = " Do the labels in 'positive' occur in the tables?" if positive_labels else ""
            raise TableError(
                f"All sites together name {what}, but a classifier needs two.{reason} Check the label column. A "
                "hospital names a class only if at least min-cluster of its rows have it, or if the 'classes' of its "
                "node config do."
            )
        if len(found) > MOST_CLASSES:
            raise TableError(
                f"All sites together name {len(found)} classes, and at most {MOST_CLASSES} can be trained. Is the "
                "label column the right one at every site? If so, name the labels that count as positive in the "
                "setting 'positive', which makes two classes of all."
            )
        common = list(columns[min(columns)])
        if len(common) < len(everywhere):
            # f2 before f10: a smaller number is a shorter text, or of the same length and first in the alphabet.
            common = sorted(everywhere, key=lambda column: (len(column), column))
        return cls(tuple(common), tuple(sorted(found, key=_natural)), tuple(positive_labels))

    def indices(self, labels: Iterable[str]) -> NDArray[np.int64]:
        """Return the class index of each label, -1 for a label that is no class of the federation."""
        place = {name: index for index, name in enumerate(self.classes)}
        names = class_names(labels, self.positive_labels)
        return np.array([place.get(str(name), -1) for name in names], dtype=np.int64)

    @property
    def positive_classes(self) -> tuple[int, ...]:
        """Class index of the positive class of each binary problem: one-versus-all, or one for two classes."""
        return (1,) if len(self.classes) == 2 else tuple(range(len(self.classes)))


def _check_spellings(classes: Mapping[str, Sequence[str]]) -> None:
    """Check that no two classes are the same class in two spellings."""
    first: dict[str, tuple[str, str]] = {}
    for site in sorted(classes):
        for name in sorted(classes[site]):
            owner, other = first.setdefault(spelling(name), (site, name))
            if name != other:
                raise TableError(
                    f"Site '{owner}' has the class '{other}' and site '{site}' the class '{name}'. They differ only "
                    f"{SPELLING}, and most likely mean the same. Write a label the same way at all sites; or merge "
                    f"both with the setting positive, such as positive='{other},{name}': all other labels are then the "
                    "other class."
                )


def _natural(name: str) -> tuple[int, float, str]:
    try:
        number = float(name)
    except ValueError:
        number = math.nan
    # "nan" is a text here: it has no place in the order of numbers.
    return (1, 0.0, name) if math.isnan(number) else (0, number, name)
