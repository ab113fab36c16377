"""What cannot be of landmarks, nor of what they are made from."""

import numpy as np

from flower_pansvm.systems.pan_svm.tasks import ASSIGN, BOX, LANDMARKS
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


@CHECKS.register(ASSIGN.name)
def assign(opened: Opened) -> Problems:
    """Yield what cannot be of sums and numbers of rows by centre."""
    centres = opened.question.centres.shape
    yield from opened.misshapen(totals=centres, rows=centres[:2])
    if opened.broken("rows"):
        yield "'rows' holds a number of rows that is negative or not whole"
    if opened.rows is not None and (opened.sums["rows"].sum(axis=1) > opened.rows.train.sum()).any():
        yield "'rows' has more rows than all sites"


@CHECKS.register(BOX.name)
def box(opened: Opened) -> Problems:
    """Yield what cannot be of numbers of sites that have a cell beyond each step."""
    steps = (len(opened.question.folds), opened.columns, len(opened.question.steps))
    yield from opened.misshapen(below=steps, above=steps)
    for name in ("below", "above"):
        sites = opened.sums[name]
        if opened.broken(name) or (sites > len(opened.sites)).any() or (np.diff(sites, axis=-1) > 0).any():
            yield f"'{name}' holds numbers of sites that are not whole, too large, or grow with the distance"
