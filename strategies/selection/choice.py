"""How many features to keep: the fewest whose models are as good as the best."""

from collections.abc import Sequence

from flower_pansvm.errors import SettingError
from strategies.selection.outcome import Point

ROUNDING = 1e-9
"""Accuracies that differ by less are equal."""


def choose(points: Sequence[Point], tolerance: float, wanted: int | None) -> int:
    """Return the index of the chosen point.

    Parameters
    ----------
    points : sequence of Point
        Subsets from all features down, at least one.
    tolerance : float
        Without a wanted number, the subset with the fewest features is chosen whose accuracy is at most this
        much below the best; with 0 it is not less accurate than any other, that of all features included.
    wanted : int or None
        Number of features to keep. If no subset has it, because steps removed several features at once, the
        next larger subset is chosen.

    Raises
    ------
    SettingError
        If more features are wanted than the first point has. A call with that point alone says so early.

    Examples
    --------
    >>> points = [Point(3, 0.90, 0.0, None), Point(2, 0.95, 0.0, None), Point(1, 0.85, 0.0, None)]
    >>> choose(points, tolerance=0.005, wanted=None), choose(points, tolerance=0.005, wanted=3)
    (1, 0)
    """
    if wanted is None:
        needed = max(point.accuracy for point in points) - tolerance - ROUNDING
        able = [index for index, point in enumerate(points) if point.accuracy >= needed]
    else:
        able = [index for index, point in enumerate(points) if point.features >= wanted]
    if not able:
        raise SettingError(
            f"features is {wanted}, but the elimination starts with {points[0].features}: the table has no more, or "
            "the filters left no more. Ask for fewer features or loosen the filters."
        )
    return min(able, key=lambda index: points[index].features)
