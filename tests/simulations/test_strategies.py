"""Every strategy that can be chosen by name does what a strategy has to do."""

from collections.abc import Callable
from itertools import product

import pytest

from simulations import testing
from simulations.testing import CHECKS, LONG_CHECKS, check_refuses_bad_settings, check_same_on_both_engines
from strategies.registry import STRATEGIES
from strategies.settings import make_settings

ON_THE_ENGINE = ("pan-svm", "dp-svm")
"""Strategies that are run on Flower's engine here: with perturbed copies, and with budgets. Exact sums are in
tests/simulations/test_engines.py, and values that are disclosed in tests/strategies/test_deployment.py."""


def takes_seconds(strategy: str) -> bool:
    """Return whether a run takes long: a feature selection, which trains many models, or one of two others."""
    return make_settings(strategy=strategy).selects or strategy in {"mixture", "hybrid-svm"}


def is_variant(strategy: str) -> bool:
    """Return whether a strategy is another one with other constants: it has no method or settings of its own."""
    kind = STRATEGIES[strategy]
    others = set(STRATEGIES.values()) - {kind}
    own = any(isinstance(value, type) or hasattr(value, "__get__") for value in vars(kind).values())
    return not own and any(base in others for base in kind.__mro__)


# One strategy after the other: the checks of one share a run.
@pytest.mark.parametrize(
    ("strategy", "check"),
    [
        pytest.param(
            strategy,
            check,
            marks=[pytest.mark.slow] * (check is not check_refuses_bad_settings and takes_seconds(strategy)),
            id=f"{strategy}-{check.__name__}",
        )
        for strategy, check in product(STRATEGIES, CHECKS)
    ],
)
def test_every_strategy(strategy: str, check: Callable[[str], None]) -> None:
    check(strategy)


SUMS_OF_OTHERS = ("hybrid-svm", "filter-wrapper")
"""Strategies that ask for the sums of private-svm and of the other selections, and take minutes."""


# A variant asks for the sums of the strategy that it is one of: whether they are the same in every way is seen there.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "check"),
    [
        pytest.param(strategy, check, id=f"{strategy}-{check.__name__}")
        for strategy, check in product(STRATEGIES, LONG_CHECKS)
        if not is_variant(strategy)
        and strategy not in SUMS_OF_OTHERS
        and (check is not check_same_on_both_engines or strategy in ON_THE_ENGINE)
    ],
)
def test_every_strategy_in_full(strategy: str, check: Callable[[str], None]) -> None:
    check(strategy)


def test_a_strategy_that_does_not_try_its_model_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testing, "_trained", lambda _, level: {"level": level, "accuracy": None})
    with pytest.raises(AssertionError, match="no accuracy"):
        testing.check_learns("pan-svm")
