"""The models of differentially private training: linear classifiers behind random Fourier features."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Floats
from flower_pansvm.class_columns import positive_classes
from flower_pansvm.fourier_map import FourierMap
from flower_pansvm.models.decisions import DecidingModel, as_labels
from flower_pansvm.models.model_file import schema_from_arrays, schema_to_arrays
from flower_pansvm.random_fourier import RandomFourierMap
from flower_pansvm.schema import Schema


class FourierSVC(DecidingModel):
    """A trained DP-SVM.

    Attributes
    ----------
    schema_, feature_map_ : Schema, FourierMap
        Its parts.
    coef_ : ndarray of shape (features of the map, 1 or classes)
        Weights of the features; the last feature is a constant.
    """

    missing_cells = "mean"
    feature_map_: FourierMap
    coef_: Floats

    @classmethod
    def from_parts(cls, schema: Schema, feature_map: FourierMap, weights: Floats) -> Self:
        """Put a model together; ValueError if the parts do not fit together."""
        columns, classes = len(schema.columns), len(schema.classes)
        shape = feature_map.size, len(positive_classes(classes))
        if not feature_map.fits(columns) or weights.shape != shape:
            raise ValueError("Columns, classes, feature map and weights do not fit together.")
        model = cls()
        model.schema_, model.feature_map_, model.coef_ = schema, feature_map, weights
        model.classes_ = as_labels(schema.classes)
        return model

    def decisions_of(self, X: Floats) -> Floats:
        """Return the decision values of a block of rows: weighted sums of the map's features."""
        return self.feature_map_.transform(X) @ self.coef_

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return schema, feature map and weights as arrays."""
        parts = {key: np.asarray(value) for key, value in vars(self.feature_map_).items()}
        return {**schema_to_arrays(self.schema_), **parts, "coef": self.coef_}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Put the model together again from what :meth:`to_arrays` returned."""
        schema = schema_from_arrays(arrays)
        parts = {key: arrays[key] for key in FourierMap.__dataclass_fields__}
        feature_map = FourierMap(**{**parts, "linear": float(arrays["linear"])})  # type: ignore[arg-type]
        return cls.from_parts(schema, feature_map, arrays["coef"])


class RandomFourierSVC(FourierSVC):
    """A released private or hybrid SVM, of two classes, without an intercept."""

    missing_cells = "middle"
    feature_map_: RandomFourierMap  # type: ignore[assignment]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Put the model together again from what :meth:`to_arrays` returned."""
        schema = schema_from_arrays(arrays)
        feature_map = RandomFourierMap(arrays["low"], arrays["high"], arrays["frequencies"])
        return cls.from_parts(schema, feature_map, arrays["coef"])  # type: ignore[arg-type]
