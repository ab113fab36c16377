"""Landmarks for one or several scalings at once: the sites' local k-means centres (Lu 2016, Algorithm 1, line 1).

The landmarks of a scaling without a fold do not depend on that fold either.
"""

import math
from collections.abc import Sequence

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import TrainingError
from flower_pansvm.log import logger
from flower_pansvm.systems.pan_svm.tasks import LANDMARKS, LandmarksQuestion
from flower_pansvm.systems.scaling import NO_FOLD
from strategies.federation.checks import ROUNDING, AggregateResult, Problems
from strategies.federation.federation import Federation
from strategies.steps.scaling import ScaledFeatures
from strategies.svm_settings import NystroemSettings

SPARE_SLOTS = 2
"""Landmark slots per site, in shares of an equal split: a site with more rows than others has more centres."""

FEW = 40
"""Number of landmarks below which they hardly span rows of many columns: on gene data accuracy fell by up to 27 points
with 10 to 15 of them (Lu 2016's dlbcl)."""


def gather_landmarks(
    federation: Federation, settings: NystroemSettings, scaled_sets: Sequence[ScaledFeatures]
) -> list[Floats]:
    """Return the landmarks of each scaling, shape (landmarks, features).

    They are sorted, so that the same landmarks always give the same model, and their order does not reveal the sites.

    Raises
    ------
    TrainingError
        If no site has enough rows for a single landmark.
    """
    centres = _centres(federation, settings, scaled_sets)
    if min(map(len, centres)) == 0:
        raise TrainingError(
            f"No site has the {settings.min_cluster} rows that a landmark needs. Lower min-cluster if all "
            "hospitals agree, or gather more rows."
        )
    for scaled, landmarks in zip(scaled_sets, centres, strict=True):
        if scaled.fold == NO_FOLD:
            _warn_if_few(settings, scaled.rows, len(landmarks), len(federation.sites))
    return [landmarks[np.lexsort(landmarks.T[::-1])] for landmarks in centres]


def _warn_if_few(settings: NystroemSettings, rows: float, count: int, sites: int) -> None:
    """Log a line if there are fewer landmarks than requested, or too few to be accurate."""
    # Each site rounds its share.
    requested, min_cluster = settings.landmark_count(int(rows)), settings.min_cluster
    if settings.landmarks is None and count < FEW:
        logger.warning(
            "auto gives only %d landmarks for %d rows; with many columns that is too few to be accurate. landmarks=0.9 "
            "with min-cluster=1 gives more, but then most of them are single rows, which all sites and the coordinator "
            "receive (at level perturbed their copies only).",
            count,
            rows,
        )
    elif settings.landmarks is not None and count < requested - sites:
        reason = (
            f"each is the mean of at least min-cluster={min_cluster} rows"
            if min_cluster > 1
            else "rows are alike"
        )
        logger.warning(
            "%d landmarks instead of %d: %s, and there are %d rows", count, requested, reason, rows
        )


def _centres(
    federation: Federation, settings: NystroemSettings, scaled_sets: Sequence[ScaledFeatures]
) -> list[Floats]:
    """Return the union of the sites' k-means centres, by one round trip."""
    counts = [settings.landmark_count(scaled.rows) for scaled in scaled_sets]
    largest, sites = max(counts), len(federation.sites)
    per_site = min(largest, SPARE_SLOTS * math.ceil(largest / sites)) if sites <= largest else 1
    sums = federation.secure_sum(
        LANDMARKS,
        LandmarksQuestion(
            folds=np.array([scaled.fold for scaled in scaled_sets]),
            shares=np.array([count / scaled.rows for count, scaled in zip(counts, scaled_sets, strict=True)]),
            slots_per_site=per_site,
            slots=per_site * sites if sites <= largest else largest,
            min_cluster=settings.min_cluster,
            seed=settings.seed,
        ),
        relations=wrong_landmarks,
    )
    return [centres[filled > 0] for centres, filled in zip(sums.centres, sums.filled, strict=True)]


def wrong_landmarks(result: AggregateResult) -> Problems:
    """Yield the relations that landmarks break: each is in one site's slot, and within the bounds of rows."""
    question, filled = result.request.question, result.sums["filled"]
    slots = min(question.slots_per_site * len(result.request.sum_round.roster), question.slots)
    yield from result.wrong_shape(centres=(-1, slots, -1), filled=(-1, slots))
    if (filled > 1).any():
        yield "'filled' holds a slot that two sites have filled"
    largest = np.where(filled[..., None] > 0.5, result.request.bounds["centres"], 0.0)
    if (np.abs(result.sums["centres"]) > largest * (1 + ROUNDING) + result.tolerance("centres")).any():
        yield "'centres' has a landmark in an empty slot, or one outside the bounds of rows"
