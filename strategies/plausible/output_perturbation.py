"""What cannot be of exact cuts by a random Fourier map, and of counts of test rows."""

from flower_pansvm.systems.output_perturbation import RFF_CUTS, RFF_SCORES
from strategies.plausible.check import CHECKS, Problems
from strategies.plausible.opened import Opened


@CHECKS.register(RFF_CUTS.name)
def rff_cuts(opened: Opened) -> Problems:
    """Yield what cannot be of numbers of rows within the margin, and of losses."""
    points, size = opened.question.points.shape
    yield from opened.misshapen(
        a=(points, size), m=(points,), loss=(points,), curvature=(size * (size + 1) // 2,)
    )
    for name in ("m", "loss"):
        if opened.negative(name):
            yield f"'{name}' adds up parts of rows that are not negative, and is negative"


@CHECKS.register(RFF_SCORES.name)
def rff_scores(opened: Opened) -> Problems:
    """Yield what cannot be of counts."""
    for name in ("confusion", "histogram"):
        if opened.negative(name):
            yield f"'{name}' holds numbers of rows, and one is negative"
