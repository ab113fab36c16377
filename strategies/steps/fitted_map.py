"""The feature map of landmarks (Lu 2016, section 3.2.2.2, equations (3.4)-(3.6))."""

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import in_single_precision
from flower_pansvm.errors import TrainingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.nystroem import NystromMap

EIGENVALUE_TOLERANCE = 1e-8
"""Eigenvalues of k(L, L) below this share of the largest one are noise and are dropped. The smallest make numbers 10^4
times as large as the largest one does: with the map N in single precision N^T k(L, L) N is the identity to 10^-4."""

SMALLEST = 1e-70
"""Eigenvalues below this are dropped, too: their root's inverse is beyond single precision."""


def fit_map(kernel: Kernel, landmarks: NDArray[np.float64]) -> NystromMap:
    """Decompose k(L, L) = U Lambda U^T, keep the eigenvalues that are not noise, and round the map to single precision.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    landmarks : ndarray of shape (landmarks, features)
        The matrix L.

    Raises
    ------
    TrainingError
        If no eigenvalue is left: then every landmark is mapped to zero.

    Examples
    --------
    >>> import numpy as np
    >>> L = np.array([[0.0], [1.0], [2.0]])
    >>> f = fit_map(Kernel("rbf", gamma=1.0), L).transform(L)
    >>> bool(np.allclose(f @ f.T, Kernel("rbf", gamma=1.0)(L, L)))
    True
    """
    values, vectors = np.linalg.eigh(kernel(landmarks, landmarks))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > max(EIGENVALUE_TOLERANCE * float(values[0]), SMALLEST)
    if not kept.any():
        raise TrainingError(
            "The kernel matrix of the landmarks is zero or next to it, so no feature map exists. With a linear kernel "
            "this happens when every feature is constant; check the table, or choose kernel=rbf."
        )
    return NystromMap(kernel, landmarks, in_single_precision(vectors[:, kept] / np.sqrt(values[kept])))
