"""What the noise of perturbed copies does to labels and decision values, so that probabilities are of true records."""

import math

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.terms import replaced_share
from strategies.pan_svm.platt import CopyNoise

DRAWS = 4096


def copy_noise(model: PanSVC, deviations: Floats, noise: float) -> CopyNoise:
    """Return the noise in held-out copies at level ``perturbed``, as the coordinator can compute it.

    Records are made up around every landmark, with the variance that the landmarks lack, and to each noise is drawn
    twice, as it is in the copies: σ² / (1 + σ²) of each column's variance. Codes are taken for measurements: of their
    variance about as much is by codes that were drawn anew.

    Parameters
    ----------
    model : PanSVC
    deviations : ndarray of shape (features,)
        The standard deviation of each of its columns over all training copies, in the table's units.
    noise : float
        σ, in deviations of the true column.
    """
    generator = np.random.default_rng(0)
    landmarks = model.feature_map_.landmarks * model.scaling_.scale + model.scaling_.shift
    spread = deviations * noise / math.sqrt(1.0 + noise**2)
    lacking = np.sqrt(np.maximum(deviations**2 - landmarks.var(axis=0) - spread**2, 0.0))
    variances = []
    for landmark in landmarks:
        draws = generator.standard_normal((3, max(1, DRAWS // len(landmarks)), len(landmark)))
        first, second = (model.decisions_of(landmark + lacking * draws[0] + spread * z) for z in draws[1:])
        variances.append(np.square(first - second).reshape(len(first), -1).mean(axis=0) / 2.0)
    return CopyNoise(replaced_share(noise), np.mean(variances, axis=0))
