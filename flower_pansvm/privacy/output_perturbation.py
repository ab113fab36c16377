"""Output perturbation: an SVM's weights with Laplace noise (Rubinstein et al. 2012, Corollary 15; Li et al. 2014).

The weights are those of least 1/2 ||w||^2 + C / n sum_i max(0, 1 - y_i w.z_i), n rows z_i of length at most 1, and no
intercept. Li et al. print C in place of C / n in their equation (3); the noise would be too small by up to n times.
"""

import math
from dataclasses import dataclass

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.privacy.discrete_noise import Bits, discrete_laplace

SCALE = 2**40
"""The noise's scale in units of the grid that weights and noise are rounded to."""


@dataclass(frozen=True)
class Perturbation:
    """How much noise a promise needs. Neighbours are tables of n rows of which one is another; n is public."""

    size: int  # number of weights
    C: float  # penalty of the mean loss
    epsilon: float  # the promise
    # The weights' objective is above the least one by at most ``tol * C``, and C is the objective without weights.
    tol: float

    def published(self, rows: int) -> float:
        """Return the 1-norm of the paper's noise: twice the largest change of the exact weights by a row."""
        # In 2-norm it is 2 C / n: the objective is 1-strongly convex, and a row's slope has length C / n at most.
        return 2 * math.sqrt(self.size) * 2 * self.C / rows

    def sensitivity(self, rows: int) -> float:
        """Return the largest change of the weights by a row, in 1-norm.

        Weights that are off by a gap g are off by sqrt(2 g) at most, in 2-norm; before and after. The published half
        to spare holds that up to g = C² / (2 n²).
        """
        inexact = 2 * math.sqrt(2 * self.tol * self.C)
        return max(self.published(rows), math.sqrt(self.size) * (2 * self.C / rows + inexact))

    def scale(self, rows: int) -> float:
        """Return the scale lambda of the Laplace noise in each weight; rounding to the grid is paid for, too."""
        return self.sensitivity(rows) / (self.epsilon - self.size / SCALE)

    @property
    def rho(self) -> float:
        """The same promise as a cost in zCDP, far below epsilon² / 2 where there are many weights.

        A weight that moves by t scales has cost t² / 2, as t is its own epsilon (Bun and Steinke 2016, Proposition
        1.4); all together t² is epsilon² / size at most.
        """
        return self.epsilon * self.epsilon / (2 * max(self.size, 1))  # no error, whatever is asked


def perturbed(weights: Floats, scale: float, bits: Bits) -> Floats:
    """Return weights, shape (size,), with discrete Laplace noise of a :meth:`Perturbation.scale`.

    On a grid of ``scale / SCALE``: no low bit reveals the exact ones. ``bits`` as
    :func:`flower_pansvm.privacy.discrete_noise.random_bits` returns.
    """
    unit = scale / SCALE
    noise = discrete_laplace(SCALE, len(weights), bits)
    # Python's own whole numbers have no largest one.
    return np.array(
        [(int(weight) + int(k)) * unit for weight, k in zip(np.rint(weights / unit), noise, strict=True)]
    )
