"""Landmarks for one or several scalings at once: the sites' own k-means centres (Lu 2016, Algorithm 1, line 1).

For a scaling that has not seen a fold, the landmarks do not see it either.
"""

import math
from collections.abc import Sequence
from logging import WARNING

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.errors import TrainingError
from flower_pansvm.systems.pan_svm.tasks import (
    LANDMARKS,
    LandmarksQuestion,
)
from flower_pansvm.systems.scaling import NO_FOLD
from strategies.federation.checks import ROUNDING, AggregateResult, Problems
from strategies.federation.federation import Federation
from strategies.log import log
from strategies.steps.scaling import ScaledFeatures
from strategies.svm_settings import NystroemSettings

SPARE_SLOTS = 2
"""Landmark slots per site, in shares of an equal split: a site with more rows than others has more centres."""

FEW = 40
"""Fewer landmarks than this hardly span the rows where there are many columns: on gene data accuracy fell by up to 27
points with 10 to 15 of them (Lu 2016's dlbcl)."""

Landmarks = list[NDArray[np.float64]]


def gather_landmarks(
    federation: Federation, settings: NystroemSettings, scaled_sets: Sequence[ScaledFeatures]
) -> Landmarks:
    """Return the landmarks of each scaling, shape (landmarks, features).

    They are sorted, so that the same landmarks always give the same model, and that their order says nothing about the
    sites.

    Raises
    ------
    TrainingError
        If no site has enough rows for a single landmark.
    """
    found = _centres(federation, settings, scaled_sets)
    if min(map(len, found)) == 0:
        raise TrainingError(
            f"No site has the {settings.min_cluster} rows that a landmark needs. Lower min-cluster if all "
            "hospitals agree, or gather more rows."
        )
    for scaled, landmarks in zip(scaled_sets, found, strict=True):
        if scaled.fold == NO_FOLD:
            _say_if_few(settings, scaled.rows, len(landmarks), len(federation.sites))
    return [_sorted(landmarks) for landmarks in found]


def _say_if_few(settings: NystroemSettings, rows: float, found: int, sites: int) -> None:
    """Log a line if there are fewer landmarks than were asked for, or hardly enough of them."""
    # Each site rounds its share.
    wanted, least = settings.landmark_count(int(rows)), settings.min_cluster
    if settings.landmarks is None and found < FEW:
        log(
            WARNING,
            "auto gives only %d landmarks for %d rows; with many columns that is too few to be accurate. landmarks=0.9 "
            "with min-cluster=1 gives more, but then most of them are single rows, which all sites and the coordinator "
            "see (at level perturbed their copies only).",
            found,
            rows,
        )
    elif settings.landmarks is not None and found < wanted - sites:
        why = f"each is the mean of at least min-cluster={least} rows" if least > 1 else "rows are alike"
        log(WARNING, "%d landmarks instead of %d: %s, and there are %d rows", found, wanted, why, rows)


def _centres(
    federation: Federation, settings: NystroemSettings, scaled_sets: Sequence[ScaledFeatures]
) -> Landmarks:
    """Return the union of the sites' own k-means centres, by one round trip."""
    wanted = [settings.landmark_count(scaled.rows) for scaled in scaled_sets]
    most, sites = max(wanted), len(federation.sites)
    per_site = min(most, SPARE_SLOTS * math.ceil(most / sites)) if sites <= most else 1
    sums = federation.secure_sum(
        LANDMARKS,
        LandmarksQuestion(
            folds=np.array([scaled.fold for scaled in scaled_sets]),
            shares=np.array([count / scaled.rows for count, scaled in zip(wanted, scaled_sets, strict=True)]),
            slots_per_site=per_site,
            slots=per_site * sites if sites <= most else most,
            min_cluster=settings.min_cluster,
            seed=settings.seed,
        ),
        relations=wrong_landmarks,
    )
    return [centres[filled > 0] for centres, filled in zip(sums.centres, sums.filled, strict=True)]


def _sorted(landmarks: NDArray[np.float64]) -> NDArray[np.float64]:
    return landmarks[np.lexsort(landmarks.T[::-1])]


def wrong_landmarks(result: AggregateResult) -> Problems:
    """Yield what is wrong of landmarks: each is in a slot of one site, and no further out than a row can be."""
    question, filled = result.request.question, result.sums["filled"]
    slots = min(question.slots_per_site * len(result.request.this.roster), question.slots)
    yield from result.wrong_shape(centres=(-1, slots, -1), filled=(-1, slots))
    if (filled > 1).any():
        yield "'filled' holds a slot that two sites have filled"
    largest = np.where(filled[..., None] > 0.5, result.request.bounds["centres"], 0.0)
    if (np.abs(result.sums["centres"]) > largest * (1 + ROUNDING) + result.tolerance("centres")).any():
        yield "'centres' has a landmark in a slot that is not filled, or one further out than any row"
