"""A training with all sites in this process."""

from typing import TypeVar

from clients.table.simulated import simulated_nodes
from simulations.app import app
from simulations.engines.in_process import InProcessGrid
from strategies.registry import STRATEGIES
from strategies.settings import Settings
from strategies.strategy import PhasedStrategy

Kind = TypeVar("Kind", bound=InProcessGrid)


def train_in_process(settings: Settings) -> PhasedStrategy:
    """Run the strategy with all sites in this process and return it, trained."""
    strategy: PhasedStrategy = STRATEGIES[settings.strategy](settings)
    strategy.start(in_process_grid(settings))
    return strategy


def in_process_grid(settings: Settings) -> InProcessGrid:
    """Return a grid with all the sites of a run in this process."""
    return grid_of(InProcessGrid, settings)


def grid_of(kind: type[Kind], settings: Settings) -> Kind:
    """Return a grid of a subclass with all the sites of a run in this process."""
    return kind(app, simulated_nodes(settings.sites), settings.run_config)
