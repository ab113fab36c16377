"""A site that is its rows alone, for tests of what a system computes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clients.rows import Rows
from clients.site import Site
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.schema import Schema
from flower_pansvm.terms import Terms


def rows_of(X: Floats, classes: Ints) -> Rows:
    """Return rows of which each is another patient's."""
    return Rows(X, classes, np.arange(len(classes)))


@dataclass
class FakeSite:
    """What the local work of a system asks of a site: rows, the same on both sides, and broadcasts by name."""

    rows: Rows
    classes: int = 2
    broadcasts: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    name: str = "north"
    simulated: bool = False
    terms: Terms = field(default_factory=Terms)

    def train(self) -> Rows:
        return self.rows

    test = train
    check_size = Site.check_size

    def get_broadcast(self, broadcast: Any) -> Any:
        return self.broadcasts[broadcast.name]

    def schema(self) -> Schema:
        columns = self.columns or tuple(map(str, range(self.rows.X.shape[1])))
        return Schema(columns, tuple(map(str, range(self.classes))))

    def own_columns(self) -> NDArray[np.bool_]:
        return np.ones(self.rows.X.shape[1], dtype=np.bool_)
