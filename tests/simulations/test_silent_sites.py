"""Runs of many sites of which some fall silent, one now and one then: the others finish."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
from flwr.app import Message

from clients.app import app
from flower_pansvm.systems.pan_svm.tasks import LANDMARKS
from flower_pansvm.terms import Scalar
from simulations.benchmarks.scale import generate
from simulations.data.sites import join_data
from simulations.engines.in_process import COORDINATOR, InProcessGrid
from simulations.engines.running import in_process_grid
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import Settings, make_settings

MOMENTS = 10
"""Messages after the first within which the sites fall silent, each at one of them: about as many as a run has."""


class SilentGrid(InProcessGrid):
    """A grid on which a share of the sites stops answering, each from a message on that is drawn at random.

    All answer the first one, by which they join.
    """

    def __init__(self, settings: Settings, share: float, seed: int = 0) -> None:
        count = settings.sites
        nodes: list[dict[str, Scalar]] = [
            {"partition-id": site, "num-partitions": count} for site in range(count)
        ]
        super().__init__(app, nodes, settings.run_config)
        generator = np.random.default_rng(seed)
        chosen = COORDINATOR + 1 + generator.choice(count, round(share * count), replace=False)
        moments = generator.integers(2, 2 + MOMENTS, len(chosen))
        self.silent = dict(zip(chosen.tolist(), moments.tolist(), strict=True))
        self._sent = 0

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Hand on the messages to sites that still answer."""
        self._sent += 1
        asked = list(messages)
        answers = [self._sent < self.silent.get(one.metadata.dst_node_id, math.inf) for one in asked]
        ids = iter(super().push_messages([one for one, heard in zip(asked, answers, strict=True) if heard]))
        return [next(ids) if heard else f"silent-{place}" for place, heard in enumerate(answers)]


def many(tmp_path_factory: pytest.TempPathFactory, sites: int, aggregation: str, silent: float) -> PanSVM:
    """Return what a run of so many small sites makes, of which a share falls silent."""
    files = generate(tmp_path_factory.mktemp("sites"), 60 * sites, sites, 5)
    settings = make_settings(
        **{"data": join_data(files), "sites": sites, "landmarks": 30, "tol": 0.3},
        **{"timeout": 0.05, "aggregation": aggregation},
    )
    strategy = PanSVM(settings)  # type: ignore[arg-type]
    strategy.start(SilentGrid(settings, silent) if silent else in_process_grid(settings))
    return strategy


@pytest.mark.parametrize(
    ("sites", "aggregation"),
    [
        pytest.param(40, "ring", marks=pytest.mark.slow),
        pytest.param(100, "k-secure", marks=pytest.mark.slow),
    ],
)
def test_a_run_finishes_without_the_sites_that_fall_silent(
    sites: int, aggregation: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    share = 0.1 if sites < 100 else 0.05
    strategy = many(tmp_path_factory, sites, aggregation, share)
    costs = strategy.federation.costs
    lost = len(costs.dropped)
    assert lost == len(set(costs.dropped)) > 1
    assert lost <= share * sites, "who falls silent after the last message is not missed"
    assert len(strategy.federation.sites) == sites - lost
    assert strategy.evaluation.accuracy is not None
    assert (
        strategy.evaluation.accuracy > 0.6
    )  # about 0.70 of 432 rows or more; who guesses is right about half of them


@pytest.mark.slow
def test_more_sites_than_landmarks_give_as_many_as_are_wanted(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A landmark of each would be more than is asked for, and the means of whole sites are all alike."""
    strategy = many(tmp_path_factory, 40, "ring", 0.0)
    landmarks = strategy.model.feature_map_.landmarks
    assert len(landmarks) == 30
    left = {
        one["result"]: one for one in strategy.federation.costs.disclosed() if one["task"] == LANDMARKS.name
    }
    assert left["filled"]["numbers_per_site"] == 30
    # Of rows in scaled units: a landmark at a cloud of rows is far from the mean of all.
    assert (abs(landmarks).mean(axis=0) > 0.4).all()
