"""Runs of many sites of which some fall silent, one now and one then: the others finish."""

from collections.abc import Callable

import numpy as np
import pytest
from flwr.app import Message

from flower_pansvm.systems.pan_svm.tasks import LANDMARKS
from simulations.benchmarks.scale import generate
from simulations.data.sites import join_data
from simulations.engines.in_process import COORDINATOR, in_process_grid
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import Settings, make_settings
from tests.grids import from_message, silence

MOMENTS = 10
"""Messages after the first within which the sites fall silent, each at one of them: about as many as a run has."""


def some_of(settings: Settings, share: float) -> Callable[[Message], bool]:
    """Return a function that loses the messages to a share of the sites, each from one on that is drawn at random.

    All answer the first one, by which they join.
    """
    generator = np.random.default_rng(0)
    chosen = COORDINATOR + 1 + generator.choice(settings.sites, round(share * settings.sites), replace=False)
    lost = [from_message(int(node), int(generator.integers(2, 2 + MOMENTS))) for node in chosen]
    return lambda message: any(one(message) for one in lost)


def many(tmp_path_factory: pytest.TempPathFactory, sites: int, aggregation: str, silent: float) -> PanSVM:
    """Return what a run of so many small sites makes, of which a share falls silent."""
    files = generate(tmp_path_factory.mktemp("sites"), 60 * sites, sites, 5)
    settings = make_settings(
        **{"data": join_data(files), "sites": sites, "landmarks": 30, "tol": 0.3},
        **{"timeout": 0.05, "aggregation": aggregation},
    )
    strategy = PanSVM(settings)
    strategy.start(silence(in_process_grid(settings), some_of(settings, silent)))
    return strategy


@pytest.mark.slow
@pytest.mark.parametrize(("sites", "aggregation", "share"), [(40, "ring", 0.1), (100, "k-secure", 0.05)])
def test_a_run_finishes_without_the_sites_that_fall_silent(
    sites: int, aggregation: str, share: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    strategy = many(tmp_path_factory, sites, aggregation, share)
    costs = strategy.federation.costs
    lost = len(costs.dropped)
    assert lost == len(set(costs.dropped)) > 1
    assert lost <= share * sites, "who falls silent after the last message is not missed"
    assert len(strategy.federation.sites) == sites - lost
    # About 0.70 of 432 rows or more; who guesses is right about half of them.
    assert (strategy.evaluation.accuracy or 0) > 0.6


@pytest.mark.slow
def test_more_sites_than_landmarks_give_as_many_as_are_wanted(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A landmark of each would be more than is asked for, and the means of whole sites are all alike."""
    strategy = many(tmp_path_factory, 40, "ring", 0.0)
    landmarks = strategy.model.feature_map_.landmarks
    assert len(landmarks) == 30
    left = {(one["task"], one["result"]): one for one in strategy.federation.costs.disclosed()}
    assert left[LANDMARKS.name, "filled"]["numbers_per_site"] == 30
    # Of rows in scaled units: a landmark at a cloud of rows is far from the mean of all.
    assert (abs(landmarks).mean(axis=0) > 0.4).all()
