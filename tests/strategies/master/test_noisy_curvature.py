"""What is made of curvatures with noise: positive definite, close to the truth, whatever noise has made of them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from strategies.master.noisy_curvature import LATEST, NoisyCurvature

Matrix = NDArray[np.float64]

SIZES = np.array([3e4, 2.0, 1e-7, 50.0])
"""Of coordinates of very different size, as those of a wide kernel are; the bias last."""


def truth(leading: int = 3) -> Matrix:
    """Return a curvature with correlations of 0.3 between its leading coordinates and the bias."""
    H = np.full((4, 4), 0.3) + 0.7 * np.eye(4)
    outer = np.arange(leading, 3)
    H[outer, :] = H[:, outer] = 0.0
    H[outer, outer] = 1.0
    return H * np.sqrt(np.outer(SIZES, SIZES))


@pytest.mark.parametrize("leading", [3, 1, 0])
def test_a_curvature_without_noise_is_believed_as_it_is(leading: int) -> None:
    H = truth(leading)
    np.testing.assert_allclose(NoisyCurvature().take(H, leading), H, rtol=1e-9)


def test_the_latest_counts_most_and_the_others_share_the_rest() -> None:
    noisy, H = NoisyCurvature(), truth()
    noisy.take(3.0 * H, 3)
    np.testing.assert_allclose(noisy.take(H, 3), (LATEST + 3.0 * (1.0 - LATEST)) * H, rtol=1e-9)


@pytest.mark.parametrize("leading", [3, 1])
@pytest.mark.parametrize("negative", [[0], [1, 2], [0, 1, 2, 3]], ids=str)
def test_a_diagonal_that_noise_has_made_negative_still_says_how_large_a_coordinate_is(
    negative: list[int], leading: int
) -> None:
    """Two of them once made the whole run fail; with none of a size, the next point would be far too far away."""
    H = truth(leading)
    H[negative, negative] *= -0.2
    believed = NoisyCurvature().take(H, leading)
    scaled = believed / np.sqrt(np.outer(SIZES, SIZES))
    assert np.linalg.eigvalsh(scaled).min() > 0.01
    assert np.abs(scaled).max() < 3.0


def test_a_coordinate_in_which_no_row_lies_does_not_bend() -> None:
    H = truth()
    H[1, :] = H[:, 1] = 0.0
    believed = NoisyCurvature().take(H, 3)
    assert np.isfinite(believed).all()
    assert np.abs(believed[1]).max() < 1e-100
