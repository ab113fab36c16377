"""The model of weak mixture models: a mixture of Gaussians for each class."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Floats
from flower_pansvm.models.decisions import DecidingModel, as_labels
from flower_pansvm.models.model_file import schema_from_arrays, schema_to_arrays
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.systems.mixture.tasks import ClassModels


class GaussianMixtures(DecidingModel):
    """Mixtures of scaled rows, one a class.

    Attributes
    ----------
    schema_, scaling_, mixtures_ : Schema, Scaling, ClassModels
        Its parts.
    """

    missing_cells = "mean"
    scaling_: Scaling
    mixtures_: ClassModels

    @classmethod
    def from_parts(cls, schema: Schema, scaling: Scaling, mixtures: ClassModels) -> Self:
        """Put a model together; ValueError if the parts do not fit together."""
        columns = len(schema.columns)
        mixtures.check(len(schema.classes), columns)
        if (
            any(array.shape != (columns,) or not np.isfinite(array).all() for array in vars(scaling).values())
            or not (scaling.scale > 0).all()
        ):
            raise ValueError("Columns and scaling do not fit together.")
        if np.count_nonzero(mixtures.components) < 2:
            raise ValueError("Fewer than two classes have a model.")
        model = cls()
        model.schema_, model.scaling_, model.mixtures_ = schema, scaling, mixtures
        model.classes_ = as_labels(schema.classes)
        return model

    def decisions_of(self, X: Floats) -> Floats:
        """Return the log odds of a block of rows: of each class against the others, of two only of the second."""
        return self.mixtures_.decisions(self.scaling_.transform(X))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return schema, scaling and mixtures as arrays."""
        return {**schema_to_arrays(self.schema_), **vars(self.scaling_), **vars(self.mixtures_)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Put the model together again from what :meth:`to_arrays` returned."""
        schema = schema_from_arrays(arrays)
        scaling = Scaling(*(arrays[parameter.name] for parameter in fields(Scaling)))
        return cls.from_parts(
            schema, scaling, ClassModels(*(arrays[parameter.name] for parameter in fields(ClassModels)))
        )
