"""All sites' rows in one place: what a central implementation would work on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from clients.rows import fold_numbers
from clients.rows import test_rows as held_out
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.schema import Schema, class_names
from simulations.data.sites import table_of
from strategies.settings import Settings


@dataclass(frozen=True)
class Pooled:
    """Rows of all sites, one site after the other.

    Parameters
    ----------
    X : ndarray of shape (rows, features)
        Cells in the tables' own units.
    classes : ndarray of shape (rows,)
        Class index.
    folds : ndarray of shape (rows,)
        Fold of each training row.
    sites : ndarray of shape (rows,)
        Number of the site.
    """

    X: NDArray[np.float64]
    classes: NDArray[np.int64]
    folds: NDArray[np.int64]
    sites: NDArray[np.int64]

    def mapped(self, model: PanSVC) -> NDArray[np.float64]:
        """Return the rows as virtual points of a model's feature map."""
        return model.feature_map_.transform(model.scaling_.transform(self.X))


@pytest.fixture
def pool() -> Callable[..., Pooled]:
    """Return a function that pools the training rows of a run, or its test rows."""

    def pooled(settings: Settings, schema: Schema, *, test: bool = False) -> Pooled:
        parts: list[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]] = []
        for site in range(settings.sites):
            table = table_of(settings, site)
            assert table.labels is not None
            names = class_names(table.labels, settings.positive_labels)
            chosen = held_out(names, settings.test_fraction, settings.seed) == test
            classes = schema.indices(table.labels)[chosen]
            folds = fold_numbers(classes, settings.folds or 1, settings.seed)
            parts.append((table.X[chosen], classes, folds))
        X, classes, folds = (np.concatenate(part) for part in zip(*parts, strict=True))
        sites = np.repeat(np.arange(settings.sites), [len(part[1]) for part in parts])
        return Pooled(X, classes, folds, sites)

    return pooled


@pytest.fixture
def write_table(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes rows to a CSV file and returns its path, the setting ``data``."""

    def write(X: NDArray[np.float64], y: NDArray[np.int64], name: str = "table") -> str:
        path = tmp_path / f"{name}.csv"
        frame = pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])
        frame.assign(label=y).to_csv(path, index=False)
        return str(path)

    return write
