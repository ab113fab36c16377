"""What cannot be of landmarks, nor of what they are made from."""

import numpy as np

from flower_pansvm.systems.pan_svm.tasks import LANDMARKS
from strategies.plausible.check import CHECKS, Problems
from strategies.plausible.opened import ROUNDING, Opened


@CHECKS.register(LANDMARKS.name)
def landmarks(opened: Opened) -> Problems:
    """Yield what cannot be of slots, each filled by one site or by none."""
    filled, slots = (
        opened.sums["filled"],
        min(opened.question.slots_per_site * opened.roster_size, opened.question.slots),
    )
    cells = (len(opened.question.folds), slots, opened.columns)
    yield from opened.misshapen(centres=cells, filled=cells[:2])
    if opened.broken("filled") or (filled > 1).any():
        yield "'filled' holds something else than a 0 or a 1 for each slot"
    largest = np.where(filled[..., None] > 0.5, opened.bounds["centres"], 0.0)
    if (np.abs(opened.sums["centres"]) > largest * (1 + ROUNDING) + opened.off("centres")).any():
        yield "'centres' has a landmark in a slot that is not filled, or one further out than any row"
