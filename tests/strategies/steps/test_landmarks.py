"""Landmarks: each fold has its own, who has which slot, and what is said of their number."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from flower_pansvm import records
from simulations.engines.in_process import InProcessGrid
from strategies.federation.federation import Federation
from strategies.settings import Settings, make_settings
from strategies.steps.landmarks import gather_landmarks
from strategies.steps.scaling import ScaledFeatures, broadcast_scalings, learn_moments
from tests.strategies.conftest import joined

Matrix = NDArray[np.float64]


def gathered(
    settings: Settings, folds: bool = False
) -> tuple[list[Matrix], list[ScaledFeatures], Federation]:
    """Return the landmarks of a run, or those of each of its folds, with their scalings."""
    federation = joined(settings)
    moments = learn_moments(federation, settings.scaling)
    scaled_sets = [moments.scaled(fold) for fold in moments.folds] if folds else [moments.scaled()]
    broadcast_scalings(federation, [scaled.scaling for scaled in scaled_sets])
    return gather_landmarks(federation, settings, scaled_sets), scaled_sets, federation


# Folds


def test_each_fold_has_landmarks_of_its_own() -> None:
    settings = make_settings(data="wine", sites=3, landmarks="12", C="auto", cv_folds=3)
    found, scaled_sets, _ = gathered(settings, folds=True)
    assert len(found) == len(scaled_sets) == 3
    assert all(0 < len(landmarks) <= 12 for landmarks in found)
    assert not any(np.isin(found[0], other).any() for other in found[1:])


# Slots


def test_the_first_site_writes_the_seed_of_the_slots_to_each_other_and_the_coordinator_cannot_read_it() -> (
    None
):
    settings = make_settings(data="wine", sites=3, landmarks="10")
    _, _, federation = gathered(settings)
    grid = federation.grid
    assert isinstance(grid, InProcessGrid)
    seeds = {
        bytes(records.get(context.state, "first.slots")["value"])  # type: ignore[arg-type]
        for context in grid._contexts.values()
    }
    assert len(seeds) == 1
    (seed,) = seeds
    sent = b"".join(
        bytes(note)
        for reply in grid.replies
        for note in records.get(reply.content, "notes").values()  # type: ignore[arg-type]
    )
    assert len(seed) == 32
    assert seed not in sent


# What is said of their number


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"data": "wine", "landmarks": "60"}, "min-cluster=5"),
        ({"data": "wine"}, "single rows"),
        # Enough landmarks, and few that were asked for, need no word.
        ({"data": "breast_cancer"}, ""),
        ({"data": "wine", "landmarks": "12"}, ""),
        # Each of ten sites rounds its share of the landmarks.
        ({"data": "wine", "sites": 10, "landmarks": "36", "min_cluster": 1}, ""),
    ],
    ids=str,
)
def test_few_landmarks_are_explained_in_one_line(
    config: dict[str, Any], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING", logger="flwr"):
        gathered(make_settings(**{"sites": 3, **config}))
    texts = [text for text in caplog.messages if "landmarks" in text]
    assert len(texts) == bool(told)
    assert told in "".join(texts)
