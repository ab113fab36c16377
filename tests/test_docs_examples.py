"""The code in docs/extending.md runs, and what it makes is a strategy like any other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulations.testing import CHECKS
from strategies.registry import all_strategies, strategies
from strategies.settings import all_settings

DOCS = Path(__file__).parents[1] / "docs" / "extending.md"


def block(mark: str) -> str:
    """Return the Python code behind a mark."""
    return DOCS.read_text(encoding="utf-8").split(f"<!-- {mark} -->\n```python\n")[1].split("```")[0]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the example with its strategy entered for one test only: other tests ask which there are."""
    monkeypatch.setattr(strategies, "data", {**all_strategies()})
    found: dict[str, Any] = {"__name__": "averaging"}
    exec(block("own strategy"), found)
    exec(block("own strategy's test"), found)
    return found


def test_the_example_makes_a_strategy_without_new_settings(names: dict[str, Any]) -> None:
    assert all_strategies()["averaging"] is names["Averaging"]
    all_settings()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_example_does_what_a_strategy_has_to_do(
    check: Callable[[str], None], names: dict[str, Any]
) -> None:
    names["test_my_strategy"](check)
