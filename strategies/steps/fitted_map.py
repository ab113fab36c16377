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

LARGEST = 1e30
"""Largest value of k(L, L). Sites compute curvature in single precision, which ends at 3e38, and some of their rows are
farther out than any landmark; long before, a training that has to tell 1 from 1e30 comes to nothing."""


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
        If no eigenvalue is left: then every landmark is mapped to zero. Or if the kernel's values
        are too large to compute with.

    Examples
    --------
    >>> import numpy as np
    >>> L = np.array([[0.0], [1.0], [2.0]])
    >>> f = fit_map(Kernel("rbf", gamma=1.0), L).transform(L)
    >>> bool(np.allclose(f @ f.T, Kernel("rbf", gamma=1.0)(L, L)))
    True
    """
    with np.errstate(over="ignore"):
        matrix = kernel(landmarks, landmarks)
    if not np.abs(matrix).max() <= LARGEST:  # nor is what is no number
        raise TrainingError(
            "The kernel matrix of the landmarks has values too large to compute with. Choose a smaller degree or "
            "gamma, or scale the features."
        )
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > max(EIGENVALUE_TOLERANCE * float(values[0]), SMALLEST)
    if not kept.any():
        raise TrainingError(
            "The kernel matrix of the landmarks is zero or next to it, so no feature map exists. With a linear kernel "
            "this happens when every feature is constant, with kernel=poly also when gamma is small for its degree; "
            "check the table, choose a larger gamma, or choose kernel=rbf."
        )
    return NystromMap(kernel, landmarks, in_single_precision(vectors[:, kept] / np.sqrt(values[kept])))
