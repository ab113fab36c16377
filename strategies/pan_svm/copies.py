"""What the noise of perturbed copies does to labels and decision values, so that probabilities are of true records."""

import math

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.calibration import CopyNoise
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.terms import replaced_share

DRAWS = 4096


def copy_noise(model: PanSVC, deviations: Floats, noise: float) -> CopyNoise:
    """Return the noise in held-out copies at level ``perturbed``, as the coordinator can compute it.

    Around every landmark noise is drawn as it is in the copies: σ² / (1 + σ²) of each column's variance. Codes
    are taken for measurements: of their variance about as much is by codes that were drawn anew.

    Parameters
    ----------
    model : PanSVC
    deviations : ndarray of shape (features,)
        The standard deviation of each of its columns over all training copies, in the table's units.
    noise : float
        σ, in deviations of the true column.
    """
    landmarks, scaling = model.feature_map_.landmarks, model.scaling_
    generator = np.random.default_rng(0)
    spread = deviations * noise / math.sqrt(1.0 + noise**2)
    shape = max(2, DRAWS // len(landmarks)), landmarks.shape[1]
    variances = [
        model.decisions_of(row + spread * generator.standard_normal(shape))
        .reshape(shape[0], -1)
        .var(axis=0, ddof=1)
        for row in landmarks * scaling.scale + scaling.shift
    ]
    return CopyNoise(replaced_share(noise), np.mean(variances, axis=0))
