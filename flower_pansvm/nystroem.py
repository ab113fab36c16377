"""The Nyström feature map: from rows to virtual points on which a linear SVM equals a kernel SVM.

Paper: Lu 2016, section 3.2.2.2, equations (3.4)-(3.6) and Algorithm 1.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.errors import TrainingError
from flower_pansvm.kernels import Kernel

EIGENVALUE_TOLERANCE = 1e-8
"""Eigenvalues of k(L, L) below this share of the largest one are noise and are dropped."""

NORMALIZATION_TOLERANCE = 0.1
"""How far N^T k(L, L) N may be from the identity, as Frobenius norm."""


@dataclass(frozen=True)
class NystromMap:
    """The feature map f(x) = k(x, L) U Lambda^(-1/2) of equation (3.6).

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    landmarks : ndarray of shape (landmarks, features)
        The matrix L, in the scaled units of the rows that will be mapped.
    normalization : ndarray of shape (landmarks, rank)
        The matrix U Lambda^(-1/2), the largest eigenvalue first.

    Examples
    --------
    >>> import numpy as np
    >>> L = np.array([[0.0], [1.0], [2.0]])
    >>> f = NystromMap.fit(Kernel("rbf", gamma=1.0), L).transform(L)
    >>> bool(np.allclose(f @ f.T, Kernel("rbf", gamma=1.0)(L, L)))
    True
    """

    kernel: Kernel
    landmarks: NDArray[np.float64]
    normalization: NDArray[np.float64]

    @classmethod
    def fit(cls, kernel: Kernel, landmarks: NDArray[np.float64]) -> Self:
        """Decompose k(L, L) = U Lambda U^T and keep the eigenvalues that are not noise.

        Parameters
        ----------
        kernel : Kernel
            The kernel k.
        landmarks : ndarray of shape (landmarks, features)
            The matrix L.

        Raises
        ------
        TrainingError
            If no eigenvalue is left: then every landmark is mapped to zero. Or if the kernel overflows.
        """
        with np.errstate(over="ignore"):
            matrix = kernel(landmarks, landmarks)
        if not np.isfinite(matrix).all():
            raise TrainingError(
                "The kernel matrix of the landmarks has values too large to compute with. Choose a smaller degree or "
                "gamma, or scale the features."
            )
        values, vectors = np.linalg.eigh(matrix)
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = values > max(EIGENVALUE_TOLERANCE * float(values[0]), np.finfo(np.float64).tiny)
        if not kept.any():
            raise TrainingError(
                "The kernel matrix of the landmarks is zero, so no feature map exists. With a linear kernel this "
                "happens when every feature is constant; check the table, or choose kernel=rbf."
            )
        return cls(kernel, landmarks, vectors[:, kept] / np.sqrt(values[kept]))

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

    def typical_norm(self) -> float:
        """Return the root mean square of ||f|| over the landmarks, which is what to expect of a row."""
        squared_norms = np.square(self.landmarks).sum(axis=1)
        return math.sqrt(float(np.mean([self.kernel.self_bound(norm) for norm in squared_norms])))

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map rows of shape (rows, features) to virtual points F of shape (rows, rank), equation (3.6)."""
        return self.kernel(X, self.landmarks) @ self.normalization
