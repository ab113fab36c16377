"""Landmarks for one or several scalings at once, by each of the three methods.

For a scaling that has not seen a fold, the landmarks do not see it either.
"""

import math
from collections.abc import Callable, Sequence
from logging import INFO, WARNING

import numpy as np
from flwr.common.logger import log
from numpy.typing import NDArray

from flower_pansvm.errors import TrainingError
from flower_pansvm.systems.common import NO_FOLD
from flower_pansvm.systems.pan_svm.tasks import (
    ASSIGN,
    BOX,
    LANDMARKS,
    AssignQuestion,
    BoxQuestion,
    LandmarksQuestion,
)
from strategies.federation.federation import Federation
from strategies.nystroem_settings import NystroemSettings
from strategies.steps.scaling import ScaledFeatures

SPARE_SLOTS = 2
"""Landmark slots per site, in shares of an equal split: a site with more rows than others has more centres."""

K_MEANS_STEPS = 10
"""Round trips of federated k-means after the first one; the centres move little after that."""

BOX_STEPS, SMALLEST_STEP = 64, 0.1
"""Steps of the bounding box, and the smallest of them in standard deviations of a scaled cell."""

MARGIN = 1.01
"""By how much the bounding box may be larger than the largest cell, so that rounding never cuts it off."""

FEW = 40
"""Fewer landmarks than this hardly span the rows where there are many columns: on gene data accuracy fell by up to 27
points with 10 to 15 of them (Lu 2016's dlbcl)."""

Landmarks = list[NDArray[np.float64]]


def gather_landmarks(
    federation: Federation, settings: NystroemSettings, scaled_sets: Sequence[ScaledFeatures]
) -> Landmarks:
    """Return the landmarks of each scaling, shape (landmarks, features).

    They are sorted, so that the same landmarks always give the same model.

    Raises
    ------
    TrainingError
        If no site has enough rows for a single landmark.
    """
    methods: dict[str, Callable[[Federation, NystroemSettings, Sequence[ScaledFeatures]], Landmarks]] = {
        "k-means": local_k_means,
        "federated-k-means": federated_k_means,
        "random": random_in_box,
    }
    found = methods[settings.landmark_method](federation, settings, scaled_sets)
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


def local_k_means(
    federation: Federation, settings: NystroemSettings, scaled_sets: Sequence[ScaledFeatures]
) -> Landmarks:
    """Return the union of the sites' own k-means centres (Lu 2016, Algorithm 1, line 1), sorted, by one round trip.

    They come back in an order that says nothing about the sites, and that differs from run to run.
    """
    wanted = [settings.landmark_count(scaled.rows) for scaled in scaled_sets]
    most, sites = max(wanted), len(federation.sites)
    per_site = min(most, SPARE_SLOTS * math.ceil(most / sites)) if sites <= most else 1
    sums = federation.secure_sum(
        LANDMARKS,
        LandmarksQuestion(
            folds=_folds(scaled_sets),
            shares=np.array([count / scaled.rows for count, scaled in zip(wanted, scaled_sets, strict=True)]),
            slots_per_site=per_site,
            slots=per_site * sites if sites <= most else most,
            min_cluster=settings.min_cluster,
            seed=settings.seed,
        ),
    )
    return [_sorted(centres[filled > 0]) for centres, filled in zip(sums.centres, sums.filled, strict=True)]


def federated_k_means(
    federation: Federation, settings: NystroemSettings, scaled_sets: Sequence[ScaledFeatures]
) -> Landmarks:
    """Return centres that are means over the rows of all hospitals: Lloyd's k-means, each step one secure sum.

    It begins with the centres of :func:`local_k_means`. A centre that is left without rows is dropped.
    """
    centres = local_k_means(federation, settings, scaled_sets)
    for _ in range(K_MEANS_STEPS):
        most = max(map(len, centres))
        padded = [np.pad(own, ((0, most - len(own)), (0, 0))) for own in centres]
        sums = federation.secure_sum(
            ASSIGN,
            AssignQuestion(
                folds=_folds(scaled_sets),
                centres=np.stack(padded),
                counts=np.array([len(own) for own in centres]),
                min_cluster=settings.min_cluster,
            ),
        )
        centres = [
            totals[rows > 0] / rows[rows > 0, None]
            for totals, rows in zip(sums.totals, sums.rows, strict=True)
        ]
        log(INFO, "federated k-means: %d centres", len(centres[0]))
    return centres


def random_in_box(
    federation: Federation, settings: NystroemSettings, scaled_sets: Sequence[ScaledFeatures]
) -> Landmarks:
    """Return uniformly random points of the federated bounding box; no record has a part in any of them.

    The box is known to the next of 64 steps, and from numbers of sites only: how many have a row beyond a step.
    """
    deviation = math.sqrt(min(scaled.variance() for scaled in scaled_sets))
    steps = np.geomspace(SMALLEST_STEP * (deviation or 1.0), _largest_cell(scaled_sets), BOX_STEPS)
    sums = federation.secure_sum(BOX, BoxQuestion(_folds(scaled_sets), steps))
    landmarks = []
    for scaled, below, above in zip(scaled_sets, sums.below, sums.above, strict=True):
        low, high = (steps[np.minimum((side > 0).sum(axis=1), len(steps) - 1)] for side in (below, above))
        generator = np.random.default_rng([settings.seed, scaled.fold + 1])
        count = settings.landmark_count(scaled.rows)
        landmarks.append(generator.uniform(-low, high, size=(count, len(low))))
    return landmarks


def _sorted(landmarks: NDArray[np.float64]) -> NDArray[np.float64]:
    return landmarks[np.lexsort(landmarks.T[::-1])]


def _folds(scaled_sets: Sequence[ScaledFeatures]) -> NDArray[np.int64]:
    return np.array([scaled.fold for scaled in scaled_sets])


def _largest_cell(scaled_sets: Sequence[ScaledFeatures]) -> float:
    """Return a bound on every scaled cell."""
    return MARGIN * max(scaled.largest_norm for scaled in scaled_sets)
