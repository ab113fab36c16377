"""Kernel functions k(x, z) between rows.

The paper trains with the radial basis function kernel; linear and polynomial kernels are scikit-learn's
other two that are positive semi-definite, as the Nyström map (:mod:`flower_pansvm.nystroem`) needs.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError

KernelName = Literal["rbf", "linear", "poly"]


@dataclass(frozen=True)
class Kernel:
    """A kernel function with its parameters, named and defined as in scikit-learn's ``SVC``.

    ``rbf`` is exp(-gamma ||x - z||^2), ``linear`` is x.z, ``poly`` is (gamma x.z + coef0)^degree.
    """

    name: KernelName = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in ("rbf", "linear", "poly"):
            raise SettingError(f"There is no kernel '{self.name}'. Choose rbf, linear or poly.")
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise SettingError(f"gamma is {self.gamma}, but a kernel needs gamma > 0, or 'scale'.")
        if self.degree < 1:
            raise SettingError(f"degree is {self.degree}, but a polynomial kernel needs degree >= 1.")
        if not (np.isfinite(self.coef0) and self.coef0 >= 0):
            raise SettingError(
                f"coef0 is {self.coef0}, but the kernel is only an inner product for coef0 >= 0."
            )

    def __call__(self, X: Floats, Z: Floats) -> Floats:
        """Return the kernel matrix, shape (rows of X, rows of Z)."""
        # Not scikit-learn's functions: in a deployment each message starts a process, and importing them takes longer
        # than all that a site computes.
        if self.name == "linear":
            return X @ Z.T
        if self.name == "poly":
            return (self.gamma * (X @ Z.T) + self.coef0) ** self.degree
        # Distances do not change by a shift, but far from the origin their rounding error is large.
        centre = Z.mean(axis=0)
        X, Z = X - centre, Z - centre
        kernel: Floats = np.square(X).sum(axis=1)[:, None] + np.square(Z).sum(axis=1)
        kernel -= 2.0 * (X @ Z.T)
        # In place: a matrix of all rows and landmarks is much to write anew at each step.
        np.maximum(kernel, 0.0, out=kernel)
        kernel *= -self.gamma
        return np.exp(kernel, out=kernel)

    def self_bound(self, squared_norm: float) -> float:
        """Return the largest k(x, x) over all rows with ||x||^2 at most ``squared_norm``."""
        if self.name == "linear":
            return squared_norm
        if self.name == "poly":
            try:
                return float((self.gamma * squared_norm + self.coef0) ** self.degree)
            except OverflowError:
                raise SettingError(
                    f"With degree {self.degree} the kernel's values are too large to compute with. Choose a smaller "
                    "degree or gamma, or scale the features."
                ) from None
        return 1.0
