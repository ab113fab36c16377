"""The model of weak mixture models: a mixture of Gaussians for each class."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flower_pansvm.counts import winners
from flower_pansvm.cutting_planes.cuts import blocks
from flower_pansvm.mixtures.class_models import ClassModels
from flower_pansvm.models.model import MODELS, Model
from flower_pansvm.models.pan_svc import as_labels
from flower_pansvm.multiclass import positive_classes
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema


@MODELS.register("gaussian-mixtures")
class GaussianMixtures(Model):
    """Mixtures of scaled rows, one a class.

    Attributes
    ----------
    schema_, scaling_, mixtures_ : Schema, Scaling, ClassModels
        What it is made of.
    classes_ : ndarray of shape (classes,)
        Class names; integers if all of them are.
    """

    scaling_: Scaling
    mixtures_: ClassModels
    classes_: NDArray[Any]

    @classmethod
    def from_parts(cls, schema: Schema, scaling: Scaling, mixtures: ClassModels) -> Self:
        """Put a model together.

        Raises
        ------
        ValueError
            If the parts do not fit together.
        """
        columns = len(schema.columns)
        mixtures.check(len(schema.classes), columns)
        if (
            any(part.shape != (columns,) or not np.isfinite(part).all() for part in vars(scaling).values())
            or not (scaling.scale > 0).all()
        ):
            raise ValueError("Columns and scaling do not fit together.")
        if np.count_nonzero(mixtures.components) < 2:
            raise ValueError("Fewer than two classes have a model.")
        model = cls()
        model.schema_, model.scaling_, model.mixtures_ = schema, scaling, mixtures
        model.classes_ = as_labels(schema.classes)
        return model

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return log odds: of ``classes_[1]`` of two; else of each class against the others, and the largest wins.

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
        columns = len(positive_classes(len(self.classes_)))
        parts = [
            self.mixtures_.decisions(self.scaling_.transform(cells[block])) for block in blocks(len(cells))
        ]
        return np.vstack([np.empty((0, columns)), *parts])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return schema, scaling and mixtures as arrays."""
        return {**self.schema_.to_arrays(), **vars(self.scaling_), **vars(self.mixtures_)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Put the model together again from what :meth:`to_arrays` returned."""
        schema = Schema.from_arrays(arrays)
        scaling = Scaling(*(arrays[one.name] for one in fields(Scaling)))
        return cls.from_parts(
            schema, scaling, ClassModels(*(arrays[one.name] for one in fields(ClassModels)))
        )
