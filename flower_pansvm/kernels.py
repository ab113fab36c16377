"""Kernel functions k(x, z) between rows.

The paper trains with the radial basis function kernel.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError

KernelName = Literal["rbf", "linear"]


@dataclass(frozen=True)
class Kernel:
    """A kernel function with its parameters, named and defined as in scikit-learn's ``SVC``.

    ``rbf`` is exp(-gamma ||x - z||^2), ``linear`` is x.z.
    """

    name: KernelName = "rbf"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in ("rbf", "linear"):
            raise SettingError(f"There is no kernel '{self.name}'. Choose rbf or linear.")
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise SettingError(f"gamma is {self.gamma}, but a kernel needs gamma > 0, or 'scale'.")

    def __call__(self, X: Floats, Z: Floats) -> Floats:
        """Return the kernel matrix, shape (rows of X, rows of Z)."""
        # Not scikit-learn's functions, whose import takes longer than most predictions.
        if self.name == "linear":
            return X @ Z.T
        # Distances do not change by a shift, but far from the origin their rounding error is large.
        centre = Z.mean(axis=0)
        X, Z = X - centre, Z - centre
        kernel: Floats = np.square(X).sum(axis=1)[:, None] + np.square(Z).sum(axis=1)
        kernel -= 2.0 * (X @ Z.T)
        # In place: a matrix of all rows and landmarks is much to write anew at each step.
        np.maximum(kernel, 0.0, out=kernel)
        kernel *= -self.gamma
        return np.exp(kernel, out=kernel)
