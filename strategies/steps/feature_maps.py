"""The feature map of landmarks (Lu 2016, section 3.2.2.2, equations (3.4)-(3.6)): fitted, and broadcast."""

import numpy as np

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.errors import TrainingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.log import logger
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.systems.pan_svm.tasks import (
    FEATURE_MAP,
    LANDMARK_SET,
    FeatureMapBroadcast,
    LandmarkBroadcast,
)
from strategies.federation.federation import Federation
from strategies.master.packing import in_single_precision
from strategies.steps.scaling import ScaledFeatures
from strategies.svm_settings import NystroemSettings

EIGENVALUE_TOLERANCE = 1e-8
"""Eigenvalues of k(L, L) below this share of the largest one are rounding and are dropped. The smallest give numbers
10^4 times as large as the largest one: with the map N in single precision N^T k(L, L) N is the identity to 10^-4."""

SMALLEST = 1e-70
"""Smaller eigenvalues are dropped, too: their root's inverse is beyond single precision."""


def fit_map(kernel: Kernel, landmarks: Floats) -> NystromMap:
    """Decompose k(L, L) = U Lambda U^T, drop eigenvalues of rounding, and round the map to single precision.

    Parameters
    ----------
    landmarks : ndarray of shape (landmarks, features)
        The matrix L.

    Raises
    ------
    TrainingError
        If no eigenvalue is kept: every landmark would be mapped to zero.

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
            "The kernel matrix of the landmarks is almost zero, so no feature map exists. With a linear kernel "
            "this happens when every feature is constant; check the table, or choose kernel=rbf."
        )
    return NystromMap(kernel, landmarks, in_single_precision(vectors[:, kept] / np.sqrt(values[kept])))


def scale_gamma(features: int, variance: float) -> float:
    """Return scikit-learn's ``gamma='scale'``: 1 / (features * variance of all cells).

    Parameters
    ----------
    features : int
        Number of columns.
    variance : float
        Variance over all cells of the scaled table; 0 for a constant table.
    """
    return 1.0 / (features * variance) if variance > 0 else 1.0


def fit_feature_map(
    settings: NystroemSettings,
    scaled: ScaledFeatures,
    landmarks: Floats,
    features: Bools,
) -> NystromMap:
    """Return the feature map of some features of the landmarks; ``gamma=scale`` depends on these features only.

    Parameters
    ----------
    settings : NystroemSettings
        Kernel and its parameters; C and gamma are chosen.
    scaled : ScaledFeatures
        Scaling of the landmarks.
    landmarks : ndarray of shape (landmarks, all features)
        The landmarks.
    features : ndarray of shape (all features,)
        Mask of the features.
    """
    count = int(np.count_nonzero(features))
    (gamma,) = settings.gamma_values(scale_gamma(count, scaled.variance(features)))
    return fit_map(Kernel(settings.kernel, gamma), landmarks[:, features])  # type: ignore[arg-type]


def broadcast_landmarks(federation: Federation, index: int, landmarks: Floats, scaling: int) -> None:
    """Broadcast a set of landmarks, and the number of the scaling of its rows."""
    federation.broadcast(LANDMARK_SET.numbered(index), LandmarkBroadcast(scaling, landmarks))


def broadcast_feature_map(
    federation: Federation,
    index: int,
    feature_map: NystromMap,
    landmark_set: int,
    features: Bools | None = None,
) -> None:
    """Broadcast a feature map: the number of its landmarks, and its features.

    Parameters
    ----------
    landmark_set : int
        Number of its landmarks.
    features : ndarray of shape (all features,), optional
        Mask of the features; all by default.
    """
    kernel = feature_map.kernel
    if features is None:
        features = np.ones(feature_map.landmarks.shape[1], dtype=np.bool_)
    federation.broadcast(
        FEATURE_MAP.numbered(index),
        FeatureMapBroadcast(
            landmark_set=landmark_set,
            features=features,
            kernel=kernel.name,
            gamma=kernel.gamma,
            normalization=feature_map.normalization.astype(np.float32),
        ),
    )


def map_rows(
    federation: Federation,
    settings: NystroemSettings,
    scaled: ScaledFeatures,
    landmarks: Floats,
    features: Bools | None = None,
) -> NystromMap:
    """Fit the only feature map of a run, and broadcast landmarks and map; parameters as of `fit_feature_map`.

    ``features`` are all by default.
    """
    if features is None:
        features = np.ones(landmarks.shape[1], dtype=np.bool_)
    feature_map = fit_feature_map(settings, scaled, landmarks, features)
    logger.info("%d landmarks, feature map of rank %d", len(landmarks), feature_map.rank)
    broadcast_landmarks(federation, 0, landmarks, scaling=0)
    broadcast_feature_map(federation, 0, feature_map, landmark_set=0, features=features)
    return feature_map
