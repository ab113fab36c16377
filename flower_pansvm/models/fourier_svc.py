"""The model of differentially private training: a linear classifier behind random Fourier features."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flower_pansvm.counts import winners
from flower_pansvm.cutting_planes.cuts import blocks
from flower_pansvm.fourier_map import FourierMap
from flower_pansvm.models.model import MODELS, Model
from flower_pansvm.models.pan_svc import as_labels
from flower_pansvm.multiclass import positive_classes
from flower_pansvm.schema import Schema


@MODELS.register("fourier-svc")
class FourierSVC(Model):
    """A trained DP-SVM.

    Attributes
    ----------
    schema_, feature_map_ : Schema, FourierMap
        What it was made of.
    classes_ : ndarray of shape (classes,)
        Class names; integers if all of them are.
    coef_ : ndarray of shape (features of the map, 1 or classes)
        Weights of the features; the last feature is a constant.
    """

    feature_map_: FourierMap
    classes_: NDArray[Any]
    coef_: NDArray[np.float64]

    @classmethod
    def from_parts(cls, schema: Schema, feature_map: FourierMap, weights: NDArray[np.float64]) -> Self:
        """Put a model together.

        Raises
        ------
        ValueError
            If the parts do not fit together.
        """
        columns, classes = len(schema.columns), len(schema.classes)
        shape = feature_map.size, len(positive_classes(classes))
        if not feature_map.fits(columns) or weights.shape != shape:
            raise ValueError("Columns, classes, feature map and weights do not fit together.")
        model = cls()
        model.schema_, model.feature_map_, model.coef_ = schema, feature_map, weights
        model.classes_ = as_labels(schema.classes)
        return model

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the decision values: above 0 for ``classes_[1]`` of two; else one a class, and the largest wins.

        Parameters
        ----------
        X : array-like of shape (rows, features)
            Rows in the table's own units; NaN is a missing cell.

        Returns
        -------
        ndarray of shape (rows,) or (rows, classes)
        """
        values = self._decisions(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each row, shape (rows,); parameters as above."""
        classes: NDArray[Any] = self.classes_[winners(self._decisions(X))]
        return classes

    def _decisions(self, X: ArrayLike) -> NDArray[np.float64]:
        cells = np.asarray(X, dtype=np.float64)
        parts = [self.feature_map_.transform(cells[block]) @ self.coef_ for block in blocks(len(cells))]
        return np.vstack([np.empty((0, self.coef_.shape[1])), *parts])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return schema, feature map and weights as arrays."""
        parts = {key: np.asarray(value) for key, value in vars(self.feature_map_).items()}
        return {**self.schema_.to_arrays(), **parts, "coef": self.coef_}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Put the model together again from what :meth:`to_arrays` returned."""
        schema = Schema.from_arrays(arrays)
        parts = {key: arrays[key] for key in FourierMap.__dataclass_fields__}
        feature_map = FourierMap(**{**parts, "linear": float(arrays["linear"])})  # type: ignore[arg-type]
        return cls.from_parts(schema, feature_map, arrays["coef"])
