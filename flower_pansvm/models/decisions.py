"""Models that decide a row's class by decision values."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flower_pansvm.arrays import Floats, blocks
from flower_pansvm.class_columns import positive_classes, winners
from flower_pansvm.models.model import Model


class DecidingModel(Model):
    """Base of models that are no estimators of scikit-learn's.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        Class names; integers if all of them are.
    """

    classes_: NDArray[Any]

    @abstractmethod
    def decisions_of(self, X: Floats) -> Floats:
        """Return the decision values of a block of rows, shape (rows, 1) with two classes, else (rows, classes)."""

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the decision values: above 0 for ``classes_[1]`` of two; else one a class, and the largest wins.

        ``X``, shape (rows, features), is in the table's own units, NaN for a missing cell; the values have the shape
        (rows,) or (rows, classes).
        """
        values = self._decisions(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each row, shape (rows,); parameters as above."""
        indices = winners(self._decisions(X))
        return self.classes_[indices]

    def _decisions(self, X: ArrayLike) -> Floats:
        cells = np.asarray(X, dtype=np.float64)
        columns = len(positive_classes(len(self.classes_)))
        parts = [self.decisions_of(cells[block]) for block in blocks(len(cells))]
        return np.vstack([np.empty((0, columns)), *parts])


def as_labels(classes: tuple[str, ...]) -> NDArray[Any]:
    """Return class names as integers if all of them are written as integers, else as text."""
    try:
        numbers = np.array([int(name) for name in classes], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(classes, dtype=np.str_)
    if [str(value) for value in numbers] != list(classes):
        return np.array(classes, dtype=np.str_)
    return numbers
