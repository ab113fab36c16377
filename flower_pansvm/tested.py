"""Test rows counted by group, class and what a model makes of them: what questions about models share."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.tasks import dp

FINE = 0.5
"""What a row counts in the histogram of decision values, beside the 1 that it counts in the cell of its prediction."""


@dataclass(frozen=True, kw_only=True)
class TestedQuestion:
    """Asks by groups of a column's numbers, of a category or of sites, if any; and by decision value, with edges."""

    features: tuple[str, ...] = ()  # the column, or all features of the category
    cuts: Floats = field(default_factory=lambda: np.empty(0))  # (cuts,): where groups begin, increasing
    sites: tuple[str, ...] = ()  # their names, if each is a group
    edges: Floats = field(default_factory=lambda: np.empty(0))  # (edges,): decision values, increasing

    @property
    def groups(self) -> int:
        """How many groups there are; the last is of missing cells, and of groups too small to be shown."""
        return 1 + (
            len(self.sites) or len(self.features) * (1 if len(self.features) > 1 else len(self.cuts) + 1)
        )

    @property
    def columns(self) -> int:
        """How many cells a group and class have: see `TestedAnswer`."""
        return 3 + self.edges.size if self.edges.size else 2


def sensitivity(answer: Any) -> float:
    """Return how far one row changes an answer's cells, in 2-norm."""
    return math.hypot(1.0, FINE if answer.cells.shape[-1] > 2 else 0.0)


def shape(asked: TestedQuestion) -> tuple[int | str, ...]:
    """Return the shape of the cells: groups, classes, columns."""
    return asked.groups, "classes", asked.columns


@dataclass(frozen=True)
class TestedAnswer:
    """Test rows by group, class and what the model makes of them.

    A row is 1 in the first two columns, by predicted class or, of more than two classes, wrong or right; and `FINE` in
    the others, by how many edges are below its decision value.
    """

    cells: Floats = dp(sensitivity, shape=shape, not_negative=True)
