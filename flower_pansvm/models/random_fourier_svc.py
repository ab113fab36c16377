"""The model of private and hybrid SVM: a linear classifier behind a random Fourier map."""

from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import NDArray

from flower_pansvm.models.fourier_svc import FourierSVC
from flower_pansvm.models.model import MODELS
from flower_pansvm.random_fourier import RandomFourierMap
from flower_pansvm.schema import Schema


@MODELS.register("random-fourier-svc")
class RandomFourierSVC(FourierSVC):
    """A released SVM, of two classes, without an intercept."""

    feature_map_: RandomFourierMap  # type: ignore[assignment]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Put the model together again from what :meth:`to_arrays` returned."""
        schema = Schema.from_arrays(arrays)
        feature_map = RandomFourierMap(arrays["low"], arrays["high"], arrays["frequencies"])
        return cls.from_parts(schema, feature_map, arrays["coef"])  # type: ignore[arg-type]
