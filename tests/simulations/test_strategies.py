"""Every strategy that can be chosen by name does what a strategy has to do."""

from collections.abc import Callable

import pytest

from simulations.testing import CHECKS, LONG_CHECKS
from strategies.registry import all_strategies

STRATEGIES = list(all_strategies())


# One strategy after the other: the checks of one share a run.
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy(strategy: str, check: Callable[[str], None]) -> None:
    check(strategy)


@pytest.mark.slow
@pytest.mark.parametrize("check", LONG_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_in_full(strategy: str, check: Callable[[str], None]) -> None:
    check(strategy)
