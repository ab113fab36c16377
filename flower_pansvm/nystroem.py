"""The Nyström feature map: from rows to virtual points on which a linear SVM equals a kernel SVM.

Paper: Lu 2016, section 3.2.2.2, equations (3.4)-(3.6) and Algorithm 1.
"""

from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.kernels import Kernel

NORMALIZATION_TOLERANCE = 0.1  # how far N^T k(L, L) N may be from the identity, as Frobenius norm


@dataclass(frozen=True)
class NystromMap:
    """The feature map f(x) = k(x, L) U Lambda^(-1/2) of equation (3.6)."""

    kernel: Kernel
    landmarks: Floats  # (landmarks, features): the matrix L, in the scaled units of the rows
    normalization: Floats  # (landmarks, rank): the matrix U Lambda^(-1/2), the largest eigenvalue first

    @property
    def rank(self) -> int:
        """Number of coordinates of a mapped row."""
        return int(self.normalization.shape[1])

    def is_normalized(self) -> bool:
        """Return whether N^T k(L, L) N = I holds for the normalization N, as it does for U Lambda^(-1/2).

        Then f(x) holds coordinates of the projection of x, in the space of the kernel, to orthonormal vectors, and
        ||f(x)||^2 <= k(x, x). The tolerance is wide: next to the smallest eigenvalues that are kept, rounding shows.
        """
        product = self.normalization.T @ self.kernel(self.landmarks, self.landmarks) @ self.normalization
        return bool(np.linalg.norm(product - np.eye(self.rank)) <= NORMALIZATION_TOLERANCE)

    def transform(self, X: Floats) -> Floats:
        """Map rows of shape (rows, features) to virtual points F of shape (rows, rank), equation (3.6)."""
        return self.kernel(X, self.landmarks) @ self.normalization
