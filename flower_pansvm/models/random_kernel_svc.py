"""The model of random-kernel training: weights of kernel values that only the sites can compute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.errors import ModelFileError
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.decisions import as_labels
from flower_pansvm.models.model import Model
from flower_pansvm.models.model_file import schema_from_arrays, schema_to_arrays
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.systems.random_kernel import combined, matrix_digest

NEEDS_SITES = (
    "This model decides by kernel values that need the random matrix of each column block, and the sites of the block "
    "keep it to themselves. In a run they compute these for their own test rows; after a simulation, 'pansvm predict' "
    "makes the matrices again from the settings in result.json beside the model."
)


@dataclass(frozen=True)
class RandomKernelParts:
    """The learned parts besides the schema."""

    scaling: Scaling  # of each column to [0, 1]
    kernel: Kernel  # linear, or rbf with gamma = mu
    u: Floats  # (rows of B,): weights
    threshold: float  # the paper's gamma: decision values are K(x', B')u - gamma
    blocks: Ints  # (columns,): number of the column block of each column
    digests: tuple[str, ...]  # of the random matrix of each column block


class RandomKernelSVC(Model):
    """A 1-norm SVM with a random kernel (Mangasarian & Wild 2008, equations 2.8 and 3.11).

    Attributes
    ----------
    schema_ : Schema
        Columns and classes.
    parts_ : RandomKernelParts
        The learned parts.
    classes_ : ndarray of shape (2,)
        Class names; integers if both are.
    """

    missing_cells = "mean"
    parts_: RandomKernelParts
    classes_: NDArray[Any]

    @classmethod
    def from_parts(cls, schema: Schema, parts: RandomKernelParts) -> Self:
        """Put a model together; ValueError if the parts do not fit together."""
        columns, block_numbers = len(schema.columns), set(range(len(parts.digests)))
        shapes = {getattr(parts.scaling, name).shape for name in ("fill", "shift", "scale")}
        if shapes != {(columns,)} or parts.blocks.shape != (columns,) or parts.u.ndim != 1:
            raise ValueError("Columns, scaling, blocks and weights do not fit together.")
        if len(schema.classes) != 2 or set(parts.blocks.tolist()) != block_numbers:
            raise ValueError("Classes or column blocks do not fit the random matrices.")
        model = cls()
        model.schema_, model.parts_ = schema, parts
        model.classes_ = as_labels(schema.classes)
        return model

    def of_kernel(self, K: Floats) -> Floats:
        """Return decision values from kernel rows, shape (rows,): above 0 for ``classes_[1]``."""
        return K @ self.parts_.u - self.parts_.threshold

    def with_matrices(self, matrices: Sequence[Floats]) -> "OpenRandomKernelSVC":
        """Return the model with its random matrices, one a column block; ModelFileError if it has others."""
        if tuple(map(matrix_digest, matrices)) != self.parts_.digests:
            raise ModelFileError(f"These are not the model's random matrices. {NEEDS_SITES}")
        model = OpenRandomKernelSVC.from_parts(self.schema_, self.parts_)
        model.matrices_ = tuple(matrices)
        return model

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: ARG002
        """Raise a ModelFileError: without the random matrices nothing can be predicted."""
        raise ModelFileError(NEEDS_SITES)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return schema, scaling, kernel, weights, column blocks and digests as arrays."""
        parts = self.parts_
        return {
            **schema_to_arrays(self.schema_),
            **vars(parts.scaling),
            "kernel": np.array(parts.kernel.name),
            "mu": np.array(parts.kernel.gamma),
            "u": parts.u,
            "threshold": np.array(parts.threshold),
            "blocks": parts.blocks,
            "digests": np.array(parts.digests, dtype=np.str_),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Put the model together again from what :meth:`to_arrays` returned."""
        schema = schema_from_arrays(arrays)
        parts = RandomKernelParts(
            Scaling(arrays["fill"], arrays["shift"], arrays["scale"]),
            Kernel(str(arrays["kernel"]), float(arrays["mu"])),  # type: ignore[arg-type]
            arrays["u"],
            float(arrays["threshold"]),
            arrays["blocks"],
            tuple(map(str, arrays["digests"])),
        )
        return cls.from_parts(schema, parts)


class OpenRandomKernelSVC(RandomKernelSVC):
    """The model together with its random matrices, which only a simulation has: it predicts."""

    matrices_: tuple[Floats, ...]

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the decision values, shape (rows,), of rows in the table's own units."""
        cells = self.parts_.scaling.transform(np.asarray(X, dtype=np.float64))
        kernels = [
            self.parts_.kernel(cells[:, self.parts_.blocks == block], B)
            for block, B in enumerate(self.matrices_)
        ]
        return self.of_kernel(combined(self.parts_.kernel, kernels))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each row, shape (rows,)."""
        return self.classes_[(self.decision_function(X) > 0).astype(np.int64)]
